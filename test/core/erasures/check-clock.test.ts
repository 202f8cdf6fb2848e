import t from 'tap'
import { DAY_MS, isoTime } from '../../../src/core/engine/times.ts'
import { checkClock } from '../../../src/core/erasures/check-clock.ts'

const day = (days: number) => isoTime(Date.parse('2026-01-01T00:00:00.000Z') + days * DAY_MS)
const now = (days: number, served: number, paused: number | null) =>
  checkClock({ servedAt: day(served), pausedAt: paused === null ? null : day(paused) }, Date.parse(day(days)))
const goesOn = (days: number) => ({ servedAt: day(days), pausedAt: null })
const waits = (since: number) => ({ servedAt: day(0), pausedAt: day(since) })

t.test('a clock at most seven days past the last known time, or before it, is trusted', async (t) => {
  t.strictSame(checkClock(null, Date.parse(day(0))), goesOn(0), 'a new database')
  for (const days of [-400, 0, 7]) t.strictSame(now(days, 0, null), goesOn(days))
  t.strictSame(now(1, 0, 365), goesOn(1), 'it was put right, which ends the pause')
})

t.test('a clock further ahead is distrusted for a day, and the last known time is kept', async (t) => {
  t.strictSame(now(7.001, 0, null), waits(7.001))
  t.strictSame(now(30.999, 0, 30), waits(30))
  for (const days of [31, 38]) t.strictSame(now(days, 0, 30), goesOn(days))
})

t.test('a pause that a different wrong clock began starts again', async (t) => {
  t.strictSame(now(100, 0, 365), waits(100), 'it was further ahead')
  t.strictSame(now(800, 0, 365), waits(800), 'it was less far ahead')
})
