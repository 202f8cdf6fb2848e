import t from 'tap'
import { isTimeToRewrite } from '../../src/adapters/sqlite/rewrite.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const SMALL = 268_435_455
const LARGE = 268_435_456
/** A time of that day, on the clock of this machine. */
const at = (hours: number, minutes = 0) => new Date(2026, 0, 15, hours, minutes).getTime()
const iso = (ms: number) => new Date(ms).toISOString()
const isTime = (bytes: number, nowMs: number, lastMs: number, waitingMs = nowMs, searchingMs?: number) =>
  isTimeToRewrite(
    {
      bytes,
      lastAttemptMinute: Math.floor(lastMs / MINUTE_MS),
      waitingSince: iso(waitingMs),
      lastSearchingAt: searchingMs === undefined ? null : iso(searchingMs),
    },
    nowMs,
  )

t.test('a small file is rewritten at any time, ten minutes after the last one', async (t) => {
  t.ok(isTime(SMALL, at(12), 0))
  t.notOk(isTime(SMALL, at(12, 9), at(12)))
  t.ok(isTime(SMALL, at(12, 10), at(12)))
  t.notOk(isTime(SMALL, at(12), at(12, 9)), 'the clock went back a little')
  t.ok(isTime(SMALL, at(12), at(12) + 1_000 * HOUR_MS), 'the last one was made by a wrong clock')
})

t.test('a large file is rewritten at night, or when an erasure has waited for a day', async (t) => {
  for (const hour of [1, 4, 12]) t.notOk(isTime(LARGE, at(hour), 0), `${hour}`)
  for (const hour of [2, 3]) t.ok(isTime(LARGE, at(hour), 0), `${hour}`)
  t.notOk(isTime(LARGE, at(12), 0, at(12) - 24 * HOUR_MS + 1))
  t.ok(isTime(LARGE, at(12), 0, at(12) - 24 * HOUR_MS))
  t.notOk(isTime(LARGE, at(3, 5), at(3)))
})

t.test('erasures that were requested within a minute share a rewrite, for at most ten minutes', async (t) => {
  const since = at(12)
  t.notOk(isTime(SMALL, at(12, 2), 0, since, since + MINUTE_MS - 1))
  t.ok(isTime(SMALL, at(12, 2), 0, since, since + MINUTE_MS))
  t.ok(isTime(SMALL, at(12, 10), 0, since, since + 1))
})
