import t from 'tap'
import { isTimeToRewrite } from '../../src/adapters/sqlite/rewrite.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const SMALL = 268_435_455
const LARGE = 268_435_456
/** A time of that day, on the clock of this machine. */
const at = (hours: number, minutes = 0) => new Date(2026, 0, 15, hours, minutes).getTime()
const iso = (ms: number) => new Date(ms).toISOString()
/** Whether it is time, if an erasure has waited since now unless a field says otherwise. */
const isTime = ({ bytes, nowMs, lastMs = 0, waitingMs = nowMs, searchingMs }: Case) =>
  isTimeToRewrite(
    {
      bytes,
      lastAttemptMinute: Math.floor(lastMs / MINUTE_MS),
      waitingSince: iso(waitingMs),
      lastSearchingAt: searchingMs === undefined ? null : iso(searchingMs),
    },
    nowMs,
  )
type Case = {
  readonly bytes: number
  readonly nowMs: number
  /** When the file was last rewritten: 0 if long ago. */
  readonly lastMs?: number
  /** Since when an erasure has waited for a rewrite. */
  readonly waitingMs?: number
  /** When an erasure was last requested. */
  readonly searchingMs?: number
}

t.test('a small file is rewritten at any time, ten minutes after the last one', async (t) => {
  t.ok(isTime({ bytes: SMALL, nowMs: at(12) }))
  t.notOk(isTime({ bytes: SMALL, nowMs: at(12, 9), lastMs: at(12) }))
  t.ok(isTime({ bytes: SMALL, nowMs: at(12, 10), lastMs: at(12) }))
  t.notOk(isTime({ bytes: SMALL, nowMs: at(12), lastMs: at(12, 9) }), 'the clock went back a little')
  const farAheadMs = at(12) + 1_000 * HOUR_MS
  t.ok(isTime({ bytes: SMALL, nowMs: at(12), lastMs: farAheadMs }), 'the last one was made by a wrong clock')
})

t.test('a large file is rewritten at night', async (t) => {
  for (const hour of [1, 4, 12]) t.notOk(isTime({ bytes: LARGE, nowMs: at(hour) }), `${hour}`)
  for (const hour of [2, 3]) t.ok(isTime({ bytes: LARGE, nowMs: at(hour) }), `${hour}`)
  t.notOk(isTime({ bytes: LARGE, nowMs: at(3, 5), lastMs: at(3) }), 'but not twice within ten minutes')
})

t.test('a large file is rewritten at any time when an erasure has waited for a day', async (t) => {
  const dayAgoMs = at(12) - 24 * HOUR_MS
  t.notOk(isTime({ bytes: LARGE, nowMs: at(12), waitingMs: dayAgoMs + 1 }))
  t.ok(isTime({ bytes: LARGE, nowMs: at(12), waitingMs: dayAgoMs }))
})

t.test('erasures that were requested within a minute share a rewrite, for at most ten minutes', async (t) => {
  const waitingMs = at(12)
  const isTimeAt = (nowMs: number, searchingMs: number) =>
    isTime({ bytes: SMALL, nowMs, waitingMs, searchingMs })
  t.notOk(isTimeAt(at(12, 2), waitingMs + MINUTE_MS - 1))
  t.ok(isTimeAt(at(12, 2), waitingMs + MINUTE_MS))
  t.ok(isTimeAt(at(12, 10), waitingMs + 1))
})
