import t from 'tap'
import { createSemaphore } from '../../../src/adapters/postgres/semaphore.ts'
import { withTimeout } from '../../../src/adapters/postgres/with-timeout.ts'
import { refusalOf } from '../../core/scene.ts'
import { ticks } from '../../support/ticks.ts'

const LIMITS = { inFlightMax: 1, waitingMax: 10, waitMsMax: 60_000 }
const refused = { kind: 'unavailable', facts: { retryAfterS: 1 } }

/** A semaphore, and the callers that it has admitted so far. */
const setUp = (limits: Partial<typeof LIMITS> = {}) => {
  const { acquire, counts } = createSemaphore({ ...LIMITS, ...limits })
  const admitted: string[] = []
  const enter = async (caller: string, key = '') => {
    const release = await acquire(key)
    admitted.push(caller)
    return release
  }
  /** A caller whose key is the first letter of its name. */
  const enterByLetter = (caller: string) => enter(caller, caller[0])
  return { enter, enterByLetter, admitted, counts }
}

t.test('a semaphore admits callers up to its limit, and the others wait', async (t) => {
  const { enter, admitted, counts } = setUp({ inFlightMax: 2 })
  const entries = ['a', 'b', 'c'].map((caller) => enter(caller))
  await ticks()
  t.strictSame(admitted, ['a', 'b'])
  t.strictSame(counts(), { inFlight: 2, waiting: 1 })
  for (const entry of entries) (await entry)()
  t.strictSame(admitted, ['a', 'b', 'c'])
  t.strictSame(counts(), { inFlight: 0, waiting: 0 })
})

t.test('each release admits the caller that has waited longest', async (t) => {
  const { enter, admitted } = setUp()
  const [first, second, third] = ['a', 'b', 'c'].map((caller) => enter(caller))
  const release = await first
  release?.()
  await ticks()
  t.strictSame(admitted, ['a', 'b'])
  const releaseSecond = await second
  releaseSecond?.()
  t.ok(await third)
  t.strictSame(admitted, ['a', 'b', 'c'])
})

t.test('a caller is refused at once when the queue is full', async (t) => {
  const { enter, admitted } = setUp({ waitingMax: 1 })
  const entries = ['a', 'b'].map((caller) => enter(caller))
  t.match(await refusalOf(enter('c')), refused)
  for (const entry of entries) (await entry)()
  t.strictSame(admitted, ['a', 'b'])
})

t.test('a caller waits no longer than the limit, and then leaves its place in the queue', async (t) => {
  const { enter, admitted } = setUp({ waitMsMax: 1, waitingMax: 1 })
  const release = await enter('a')
  t.match(await refusalOf(enter('b')), refused)
  t.match(await refusalOf(enter('c')), refused, 'the place in the queue is free again')
  release()
  await enter('d')
  t.strictSame(admitted, ['a', 'd'])
})

t.test('keys take turns, however many callers wait with one key', async (t) => {
  const { enterByLetter, admitted } = setUp()
  const passThrough = async (caller: string) => {
    const release = await enterByLetter(caller)
    release()
  }
  await Promise.all(['a1', 'a2', 'a3', 'a4', 'b1', 'c1'].map(passThrough))
  t.strictSame(admitted, ['a1', 'a2', 'b1', 'c1', 'a3', 'a4'])
})

t.test('the callers of one key leave half of the places to other keys', async (t) => {
  const { enterByLetter, admitted } = setUp({ inFlightMax: 4 })
  const [first] = ['a1', 'a2', 'a3', 'b1'].map(enterByLetter)
  await ticks()
  t.strictSame(admitted, ['a1', 'a2', 'b1'])
  const release = await first
  release?.()
  await ticks()
  t.equal(admitted.at(-1), 'a3')
})

t.test('when the queue is full, the oldest caller of the most frequent key is refused', async (t) => {
  const { enter, enterByLetter, admitted } = setUp({ waitingMax: 3 })
  const passThrough = async (caller: string) => {
    const release = await enterByLetter(caller)
    release()
  }
  const release = await enter('a1', 'a')
  const [second, ...others] = ['a2', 'a3', 'a4', 'b1'].map(passThrough)
  t.match(await refusalOf(second as Promise<unknown>), refused)
  t.match(await refusalOf(passThrough('a5')), refused, 'a later caller of that key is refused, too')
  release()
  await Promise.all(others)
  t.strictSame(admitted, ['a1', 'a3', 'b1', 'a4'])
})

t.test('an answer that arrived while the process was blocked is used', async (t) => {
  const answer = new Promise((resolve) => setTimeout(resolve, 20, 'an answer'))
  const used = withTimeout(answer, 10)
  const until = performance.now() + 700
  while (performance.now() < until);
  t.equal(await used, 'an answer')
})

t.test('a call without an answer is refused even if the process was blocked', async (t) => {
  const refusal = refusalOf(withTimeout(new Promise(() => {}), 10))
  const until = performance.now() + 700
  while (performance.now() < until);
  t.match(await refusal, { kind: 'unavailable' })
})
