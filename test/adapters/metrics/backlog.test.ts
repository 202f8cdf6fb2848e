import t from 'tap'
import { watchBacklog } from '../../../src/adapters/metrics/backlog.ts'
import { START_MS, stoppedClock } from '../../support/setting.ts'

/** A backlog of a database that answers what it is told to, and how often it was asked. */
const setting = (answer: () => Promise<{ count: number; oldest: string | null }>) => {
  const [clock, stopwatch] = [stoppedClock(), stoppedClock(0)]
  const asked: number[] = []
  const look = watchBacklog(
    (countMax) => {
      asked.push(countMax)
      return answer()
    },
    clock,
    stopwatch,
  )
  return { clock, stopwatch, asked, look }
}
const at = (ms: number) => new Date(START_MS + ms).toISOString()

t.test(
  'however often it is scraped, the database is asked once in five seconds, for a bounded number',
  async (t) => {
    const { clock, stopwatch, asked, look } = setting(async () => ({ count: 3, oldest: at(-7_000) }))
    t.strictSame(await look(), { count: 3, oldestAgeS: 7 })
    clock.advance(2_000)
    stopwatch.advance(4_999)
    t.strictSame(await Promise.all([look(), look()]), Array(2).fill({ count: 3, oldestAgeS: 9 }))
    t.strictSame(asked, [1_000])
    stopwatch.advance(1)
    await look()
    t.strictSame(asked, [1_000, 1_000])
  },
)

t.test(
  'where nothing waits the age is 0, and a clock that was set back makes none of it negative',
  async (t) => {
    t.strictSame(await setting(async () => ({ count: 0, oldest: null })).look(), { count: 0, oldestAgeS: 0 })
    const { look } = setting(async () => ({ count: 1, oldest: at(60_000) }))
    t.strictSame(await look(), { count: 1, oldestAgeS: 0 })
  },
)

t.test('a database that cannot answer is nothing known, and is asked again no sooner', async (t) => {
  let isAway = true
  const { stopwatch, asked, look } = setting(() =>
    isAway ? Promise.reject(new Error('away')) : Promise.resolve({ count: 0, oldest: null }),
  )
  t.equal(await look(), null)
  t.equal(await look(), null)
  t.equal(asked.length, 1)
  isAway = false
  stopwatch.advance(5_000)
  t.strictSame(await look(), { count: 0, oldestAgeS: 0 })
})

t.test('a database that never answers holds up no scrape', async (t) => {
  const alive = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(alive))
  t.equal(await setting(() => new Promise(() => {})).look(), null)
})
