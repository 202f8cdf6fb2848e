import t, { type Test } from 'tap'
import { createPublisher } from '../../src/adapters/publisher.ts'

const NEVER_MS = 2 ** 30
const settled = () => new Promise((resolve) => setImmediate(resolve))

type Round = { readonly stop: AbortSignal; readonly woken: Promise<void> }
/** A publisher whose steps are `works`, one after the other; then there is nothing to do. */
const setting = (
  t: Test,
  works: ((round: Round) => boolean | Promise<boolean>)[] = [],
  pollMs = NEVER_MS,
  restMs = 1,
) => {
  const rounds: AbortSignal[] = []
  const errors: unknown[] = []
  let steps = 0
  const publisher = createPublisher({
    publish: async (stop, woken) => {
      rounds.push(stop)
      return (await works.shift()?.({ stop, woken })) ?? false
    },
    pollMs,
    restMs,
    onError: (error) => errors.push(error),
    onStep: () => {
      steps++
    },
  })
  t.teardown(() => publisher.stop())
  return { ...publisher, rounds, errors, steps: () => steps }
}
const held = () => {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  return { work: () => promise, letGo: resolve }
}
const resolving = (promised: PromiseWithResolvers<void>) => () => {
  promised.resolve()
  return false
}

t.test('it looks for work when it starts, and goes on while there is some', async (t) => {
  const looked = Promise.withResolvers<void>()
  const { start, rounds } = setting(t, [() => true, () => true, resolving(looked)])
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

t.test(
  'a wake during a step that finds nothing is not lost, and makes no two steps run at once',
  async (t) => {
    const { work, letGo } = held()
    const again = Promise.withResolvers<void>()
    const { start, wake, rounds } = setting(t, [work, resolving(again)])
    start()
    wake()
    wake()
    await settled()
    t.equal(rounds.length, 1)
    letGo(false)
    await again.promise
    t.equal(rounds.length, 2)
  },
)

t.test('a wake reaches a step that waits for slow calls', async (t) => {
  const looked = Promise.withResolvers<void>()
  const { start, wake, rounds } = setting(t, [({ woken }) => woken.then(() => true), resolving(looked)])
  start()
  await settled()
  wake()
  await looked.promise
  t.equal(rounds.length, 2)
})

t.test('so does the poll', async (t) => {
  const looked = Promise.withResolvers<void>()
  const { start, rounds } = setting(t, [({ woken }) => woken.then(() => true), resolving(looked)], 1)
  start()
  await looked.promise
  t.equal(rounds.length, 2)
})

t.test('it rests after a step, even if it is woken, and a stop ends the rest', async (t) => {
  const { start, wake, stop, rounds } = setting(t, [() => true], NEVER_MS, NEVER_MS)
  start()
  await settled()
  wake()
  await settled()
  t.equal(rounds.length, 1)
  await stop()
})

t.test('unasked, it looks now and then', async (t) => {
  const looked = Promise.withResolvers<void>()
  const { start, rounds } = setting(t, [() => false, () => false, resolving(looked)], 1)
  start()
  await looked.promise
  t.equal(rounds.length, 3)
})

t.test('an error is reported, and it goes on', async (t) => {
  const bug = new Error('a bug')
  const again = Promise.withResolvers<void>()
  const { start, errors, steps } = setting(t, [() => Promise.reject(bug), resolving(again)], 1)
  start()
  await again.promise
  t.strictSame(errors, [bug])
  t.equal(steps(), 0)
  await settled()
  t.equal(steps(), 1, 'a step without an error is reported too')
})

t.test('a stop aborts what is in progress, waits for it, and starts nothing afterwards', async (t) => {
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
  letGo(true)
  await stopping
  const last = rounds.length
  wake()
  await settled()
  t.equal(rounds.length, last)
})

t.test('a stop saves what was left in progress by a step that failed', async (t) => {
  const saved = Promise.withResolvers<void>()
  const { start, stop } = setting(t, [() => Promise.reject(new Error('away')), resolving(saved)])
  start()
  await settled()
  await stop()
  await t.resolves(saved.promise)
})

t.test('one that never started stops too', async (t) => {
  const { stop, start, rounds } = setting(t)
  await stop()
  start()
  await settled()
  t.ok(rounds.every(({ aborted }) => aborted))
})

t.test('an onError that throws ends neither the publisher nor its stop', async (t) => {
  const printed = t.capture(console, 'error', () => {})
  const publisher = createPublisher({
    publish: () => Promise.reject(new Error('away')),
    pollMs: NEVER_MS,
    restMs: 1,
    onError: () => {
      throw new Error('a bug of the hook')
    },
  })
  publisher.start()
  await settled()
  publisher.wake()
  await settled()
  await publisher.stop()
  t.equal(printed().length, 3)
})
