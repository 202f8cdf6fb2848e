import t from 'tap'
import { onwardClock } from '../../src/core/times.ts'
import { stoppedClock } from '../support/setting.ts'

const HOUR_MS = 3_600_000

t.test('an onward clock goes with the clock, and on by itself where that is set back', async (t) => {
  const clock = stoppedClock()
  const stopwatch = stoppedClock(0)
  const onward = onwardClock(clock, stopwatch)
  const start = onward()
  const pass = (ms: number) => {
    clock.advance(ms)
    stopwatch.advance(ms)
    return onward() - start
  }
  t.equal(pass(0), 0)
  t.equal(pass(10), 10)
  clock.advance(-HOUR_MS)
  t.equal(pass(0), 10, 'where it was')
  t.equal(pass(5), 15, 'and on from there')
  clock.advance(HOUR_MS)
  t.equal(pass(0), 15, 'the clock is right again')
  clock.advance(HOUR_MS)
  t.equal(pass(1), HOUR_MS + 16, 'a clock that is put forward is followed')
})
