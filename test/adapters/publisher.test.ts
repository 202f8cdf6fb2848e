import t, { type Test } from 'tap'
import { createPublisher } from '../../src/adapters/publisher.ts'

const NEVER_MS = 2 ** 30
const settled = () => new Promise((resolve) => setImmediate(resolve))

/** A publisher that takes what `works` says, round by round, then nothing. */
const setting = (t: Test, works: (() => number | Promise<number>)[] = [], pollMs = NEVER_MS, restMs = 1) => {
  const rounds: AbortSignal[] = []
  const errors: unknown[] = []
  const publisher = createPublisher({
    publish: async (stop) => {
      rounds.push(stop)
      return (await works.shift()?.()) ?? 0
    },
    pollMs,
    restMs,
    onError: (error) => errors.push(error),
  })
  t.teardown(() => publisher.stop())
  return { ...publisher, rounds, errors }
}
const held = () => {
  const { promise, resolve } = Promise.withResolvers<number>()
  return { work: () => promise, letGo: resolve }
}
const tell = (promised: PromiseWithResolvers<void>) => () => {
  promised.resolve()
  return 0
}

t.test('it looks for work when it starts, and goes on while there is some', async (t) => {
  const looked = Promise.withResolvers<void>()
  const { start, rounds } = setting(t, [() => 10, () => 1, tell(looked)])
  start()
  await looked.promise
  t.equal(rounds.length, 3)
})

t.test('a wake makes it look again', async (t) => {
  const { start, wake, rounds } = setting(t)
  start()
  await settled()
  wake()
  await settled()
  t.equal(rounds.length, 2)
})

t.test('a wake while it works is not lost, and never makes it work twice at once', async (t) => {
  const { work, letGo } = held()
  const { start, wake, rounds } = setting(t, [work])
  start()
  wake()
  wake()
  await settled()
  t.equal(rounds.length, 1)
  letGo(0)
  await settled()
  t.equal(rounds.length, 2)
})

t.test(
  'it rests after a round that took something, whoever wakes it, and a stop ends the rest',
  async (t) => {
    const { start, wake, stop, rounds } = setting(t, [() => 10], NEVER_MS, NEVER_MS)
    start()
    await settled()
    wake()
    await settled()
    t.equal(rounds.length, 1)
    await stop()
    t.equal(rounds.length, 1)
  },
)

t.test('unasked, it looks now and then', async (t) => {
  const looked = Promise.withResolvers<void>()
  const { start, rounds } = setting(t, [() => 0, () => 0, tell(looked)], 1)
  start()
  await looked.promise
  t.equal(rounds.length, 3)
})

t.test('an error is told, and it goes on', async (t) => {
  const bug = new Error('a bug')
  const again = Promise.withResolvers<void>()
  const { start, errors } = setting(t, [() => Promise.reject(bug), tell(again)], 1)
  start()
  await again.promise
  t.strictSame(errors, [bug])
})

t.test('to stop is to end what is under way, wait for it, and take on nothing more', async (t) => {
  const { work, letGo } = held()
  const { start, stop, wake, rounds } = setting(t, [work])
  start()
  wake()
  let stopped = false
  const stopping = stop().then(() => {
    stopped = true
  })
  await settled()
  t.equal(rounds[0]?.aborted, true)
  t.equal(stopped, false)
  letGo(1)
  await stopping
  wake()
  await settled()
  t.equal(rounds.length, 1)
})

t.test('one that never started stops too', async (t) => {
  const { stop, start, rounds } = setting(t)
  await stop()
  start()
  await settled()
  t.equal(rounds.length, 0)
})
