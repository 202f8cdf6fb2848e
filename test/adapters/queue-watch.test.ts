import t, { type Test } from 'tap'
import { watchQueues } from '../../src/adapters/queue-watch.ts'
import { isoTime } from '../../src/core/engine/times.ts'
import type { Queue } from '../../src/core/ports/store.ts'

const POLL_MS = 1_000
const HALF_A_MINUTE_MS = 30_000

/** A process whose jobs poll each second, at a time that the test sets. */
const setUp = (t: Test) => {
  const state = { nowMs: 0, waiting: [] as Queue[], fails: false }
  const looks: number[] = []
  const untils: string[] = []
  t.intercept(performance, 'now', { value: () => state.nowMs })
  const waiting = async ({ until }: { until: string }) => {
    looks.push(state.nowMs)
    untils.push(until)
    if (state.fails) throw new Error('the database is away')
    return state.waiting
  }
  const hasAllSignals = () => true
  const watch = watchQueues({ waiting, hasAllSignals }, () => state.nowMs)
  /** Polls two queues for so long, and returns how often there may have been versions. */
  const pollFor = async (ms: number): Promise<number> => {
    let mayHave = 0
    const endMs = state.nowMs + ms
    while (state.nowMs < endMs) {
      const [versions] = await Promise.all([
        watch.mayHaveWork('versions', POLL_MS / 2),
        watch.mayHaveWork('events', POLL_MS / 2),
      ])
      if (versions) mayHave++
      state.nowMs += POLL_MS
    }
    return mayHave
  }
  return { ...watch, state, looks, untils, pollFor }
}

t.test('an idle process looks every half minute, once for all queues', async (t) => {
  const { pollFor, looks } = setUp(t)
  t.equal(await pollFor(4 * HALF_A_MINUTE_MS), 0)
  t.strictSame(looks, [0, 30_000, 60_000, 90_000])
})

t.test('a look reaches beyond the next one, so that no schedule begins between two', async (t) => {
  const { pollFor, untils } = setUp(t)
  await pollFor(POLL_MS)
  t.strictSame(untils, [isoTime(2 * HALF_A_MINUTE_MS)])
})

t.test(
  'while anything waits, it looks as often as the jobs poll, and only that queue may have work',
  async (t) => {
    const { pollFor, mayHaveWork, looks, state } = setUp(t)
    state.waiting = ['versions']
    t.equal(await pollFor(5 * POLL_MS), 5)
    t.equal(looks.length, 5)
    t.equal(await mayHaveWork('events', HALF_A_MINUTE_MS), false)
    state.waiting = []
    t.equal(await pollFor(HALF_A_MINUTE_MS), 0)
  },
)

t.test('it looks at the next poll after a request or a signal', async (t) => {
  const { pollFor, noteActivity, looks, state } = setUp(t)
  await pollFor(10 * POLL_MS)
  noteActivity()
  state.waiting = ['versions']
  t.equal(await pollFor(POLL_MS), 1)
  t.strictSame(looks, [0, 10 * POLL_MS])
})

t.test('work that other processes left is found within half a minute', async (t) => {
  const { pollFor, state } = setUp(t)
  await pollFor(POLL_MS)
  state.waiting = ['versions']
  t.ok((await pollFor(HALF_A_MINUTE_MS)) > 0)
})

t.test('while the look fails, any queue may have work, and it looks at each poll', async (t) => {
  const { pollFor, looks, state } = setUp(t)
  state.fails = true
  t.equal(await pollFor(5 * POLL_MS), 5)
  t.equal(looks.length, 5)
})

t.test('without signals of other processes, each poll looks', async (t) => {
  const state = { looks: 0 }
  const waiting = async () => {
    state.looks++
    return []
  }
  const { mayHaveWork } = watchQueues({ waiting }, Date.now)
  await mayHaveWork('versions', 0)
  await mayHaveWork('versions', 0)
  t.equal(state.looks, 2)
})

t.test('without the means to look, any queue may have work', async (t) => {
  const { mayHaveWork } = watchQueues({}, Date.now)
  t.equal(await mayHaveWork('versions', POLL_MS), true)
})
