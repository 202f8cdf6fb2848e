import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { yieldToRequests } from '../../src/adapters/yield-to-requests.ts'

const NEVER = new AbortController().signal
/** Works without a break until the promise is settled, as a process under load does. */
const workUntil = async (done: Promise<unknown>) => {
  let isDone = false
  void done.finally(() => {
    isDone = true
  })
  while (!isDone) {
    const beganMs = performance.now()
    while (performance.now() - beganMs < 5);
    await new Promise(setImmediate)
  }
}

t.test('an idle process goes on after a short rest', async (t) => {
  const isShort = () => Promise.race([yieldToRequests(1_000, 20, NEVER).then(() => true), pause(200, false)])
  // The machine may be busy with other tests.
  let isRested = false
  let tries = 0
  while (!isRested && ++tries < 50) isRested = await isShort()
  t.ok(isRested)
})

t.test('a busy process rests longer, but not for ever', async (t) => {
  for (const [tookMs, leastMs] of [
    [10, 40],
    [1_000, 250],
  ] as const) {
    const beganMs = performance.now()
    const rest = yieldToRequests(tookMs, 5, NEVER)
    await workUntil(rest)
    t.ok(performance.now() - beganMs >= leastMs, `${tookMs} ms of work`)
  }
})

t.test('a rest ends when the process stops', async (t) => {
  const stopping = new AbortController()
  const rest = yieldToRequests(1, 60_000, stopping.signal)
  stopping.abort()
  await t.resolves(rest)
})
