import t from 'tap'
import { createSemaphore } from '../../../src/adapters/postgres/semaphore.ts'
import { withTimeout } from '../../../src/adapters/postgres/with-timeout.ts'
import { refusalOf } from '../../core/scene.ts'

const LIMITS = { inFlightMax: 1, waitingMax: 10, waitMsMax: 60_000 }
const settled = () => new Promise((resolve) => setImmediate(resolve))
const refused = { kind: 'unavailable', facts: { retryAfterS: 1 } }

/** A semaphore, and who has acquired it so far. */
const setUp = (limits: Partial<typeof LIMITS> = {}) => {
  const { acquire, counts } = createSemaphore({ ...LIMITS, ...limits })
  const admitted: string[] = []
  const come = async (who: string, key = '') => {
    const release = await acquire(key)
    admitted.push(who)
    return release
  }
  return { come, admitted, counts }
}

t.test('it admits as many as its limit, and the others wait', async (t) => {
  const { come, admitted, counts } = setUp({ inFlightMax: 2 })
  const comers = ['a', 'b', 'c'].map((who) => come(who))
  await settled()
  t.strictSame(admitted, ['a', 'b'])
  t.strictSame(counts(), { inFlight: 2, waiting: 1 })
  for (const comer of comers) (await comer)()
  t.strictSame(admitted, ['a', 'b', 'c'])
  t.strictSame(counts(), { inFlight: 0, waiting: 0 })
})

t.test('each release admits one, in the order in which they came', async (t) => {
  const { come, admitted } = setUp()
  const [first, second, third] = ['a', 'b', 'c'].map((who) => come(who))
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
  const { come, admitted } = setUp({ waitingMax: 1 })
  const comers = ['a', 'b'].map((who) => come(who))
  t.match(await refusalOf(come('c')), refused)
  for (const comer of comers) (await comer)()
  t.strictSame(admitted, ['a', 'b'])
})

t.test('nobody waits longer than the limit, and a waiter that gave up holds no place', async (t) => {
  const { come, admitted } = setUp({ waitMsMax: 1, waitingMax: 1 })
  const release = await come('a')
  t.match(await refusalOf(come('b')), refused)
  t.match(await refusalOf(come('c')), refused, 'its place among the waiting is free again')
  release()
  await come('d')
  t.strictSame(admitted, ['a', 'd'])
})

t.test('keys take turns, however many wait under one', async (t) => {
  const { come, admitted } = setUp()
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1'].map(async (who) => (await come(who, who[0]))())
  await Promise.all(all)
  t.strictSame(admitted, ['a1', 'a2', 'b1', 'c1', 'a3', 'a4'])
})

t.test('one key leaves half to the others', async (t) => {
  const { come, admitted } = setUp({ inFlightMax: 4 })
  const [first] = ['a1', 'a2', 'a3', 'b1'].map((who) => come(who, who[0]))
  await settled()
  t.strictSame(admitted, ['a1', 'a2', 'b1'])
  const release = await first
  release?.()
  await settled()
  t.equal(admitted.at(-1), 'a3')
})

t.test('when too many wait, the key with most of them loses its oldest', async (t) => {
  const { come, admitted } = setUp({ waitingMax: 3 })
  const passBy = async (who: string) => (await come(who, who[0]))()
  const release = await come('a1', 'a')
  const [second, ...others] = ['a2', 'a3', 'a4', 'b1'].map(passBy)
  t.match(await refusalOf(second as Promise<unknown>), refused)
  t.match(await refusalOf(passBy('a5')), refused, 'and gets no other place')
  release()
  await Promise.all(others)
  t.strictSame(admitted, ['a1', 'a3', 'b1', 'a4'])
})

t.test('an answer that came while its process stood still is taken', async (t) => {
  const answer = new Promise((resolve) => setTimeout(resolve, 20, 'an answer'))
  const taken = withTimeout(answer, 10)
  const until = performance.now() + 700
  while (performance.now() < until);
  t.equal(await taken, 'an answer')
})

t.test('without an answer, one who asked has waited long enough even then', async (t) => {
  const no = refusalOf(withTimeout(new Promise(() => {}), 10))
  const until = performance.now() + 700
  while (performance.now() < until);
  t.match(await no, { kind: 'unavailable' })
})
