import t from 'tap'
import { createSemaphore } from '../../../src/adapters/postgres/semaphore.ts'
import { noOf } from '../../core/scene.ts'

const LIMITS = { inFlightMax: 1, waitingMax: 10, waitMsMax: 60_000 }
const settled = () => new Promise((resolve) => setImmediate(resolve))
const refused = { kind: 'unavailable', facts: { retryAfterS: 1 } }

/** A semaphore, and who has acquired it so far. */
const setting = (limits: Partial<typeof LIMITS> = {}) => {
  const { acquire, counts } = createSemaphore({ ...LIMITS, ...limits })
  const admitted: string[] = []
  const come = async (who: string) => {
    const release = await acquire()
    admitted.push(who)
    return release
  }
  return { come, admitted, counts }
}

t.test('it admits as many as its limit, and the others wait', async (t) => {
  const { come, admitted, counts } = setting({ inFlightMax: 2 })
  const comers = ['a', 'b', 'c'].map(come)
  await settled()
  t.strictSame(admitted, ['a', 'b'])
  t.strictSame(counts(), { inFlight: 2, waiting: 1 })
  for (const comer of comers) (await comer)()
  t.strictSame(admitted, ['a', 'b', 'c'])
  t.strictSame(counts(), { inFlight: 0, waiting: 0 })
})

t.test('each release admits one, in the order in which they came', async (t) => {
  const { come, admitted } = setting()
  const [first, second, third] = ['a', 'b', 'c'].map(come)
  const release = await first
  release?.()
  await settled()
  t.strictSame(admitted, ['a', 'b'])
  const releaseSecond = await second
  releaseSecond?.()
  t.ok(await third)
  t.strictSame(admitted, ['a', 'b', 'c'])
})

t.test('when as many wait as may, the next is refused at once', async (t) => {
  const { come, admitted } = setting({ waitingMax: 1 })
  const comers = ['a', 'b'].map(come)
  t.match(await noOf(come('c')), refused)
  for (const comer of comers) (await comer)()
  t.strictSame(admitted, ['a', 'b'])
})

t.test('nobody waits longer than the limit, and a waiter that gave up holds no place', async (t) => {
  const { come, admitted } = setting({ waitMsMax: 1, waitingMax: 1 })
  const release = await come('a')
  t.match(await noOf(come('b')), refused)
  t.match(await noOf(come('c')), refused, 'its place among the waiting is free again')
  release()
  await come('d')
  t.strictSame(admitted, ['a', 'd'])
})
