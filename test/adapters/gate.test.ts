import t from 'tap'
import { gate } from '../../src/adapters/postgres/gate.ts'

const LIMITS = { underWayMax: 1, waitingMax: 10, waitMsMax: 60_000 }
const settled = () => new Promise((resolve) => setImmediate(resolve))
const refused = { kind: 'unavailable', facts: { retryAfterS: 1 } }
const noOf = (entering: Promise<unknown>) =>
  entering.then(
    () => 'it was let in',
    (no: unknown) => no,
  )

/** A gate, and who has come in so far. */
const setting = (limits: Partial<typeof LIMITS> = {}) => {
  const enter = gate({ ...LIMITS, ...limits })
  const inside: string[] = []
  const come = async (who: string) => {
    const leave = await enter()
    inside.push(who)
    return leave
  }
  return { come, inside }
}

t.test('as many as may be go through at once, the others wait', async (t) => {
  const { come, inside } = setting({ underWayMax: 2 })
  const comers = ['a', 'b', 'c'].map(come)
  await settled()
  t.strictSame(inside, ['a', 'b'])
  for (const comer of comers) (await comer)()
  t.strictSame(inside, ['a', 'b', 'c'])
})

t.test('who leaves lets in one, in the order in which they came', async (t) => {
  const { come, inside } = setting()
  const [first, second, third] = ['a', 'b', 'c'].map(come)
  const leave = await first
  leave?.()
  await settled()
  t.strictSame(inside, ['a', 'b'])
  const leaveSecond = await second
  leaveSecond?.()
  t.ok(await third)
  t.strictSame(inside, ['a', 'b', 'c'])
})

t.test('past the bound of waiting the next is refused at once', async (t) => {
  const { come, inside } = setting({ waitingMax: 1 })
  const comers = ['a', 'b'].map(come)
  t.match(await noOf(come('c')), refused)
  for (const comer of comers) (await comer)()
  t.strictSame(inside, ['a', 'b'])
})

t.test('nobody waits longer than may be, and who gave up holds no place', async (t) => {
  const { come, inside } = setting({ waitMsMax: 1, waitingMax: 1 })
  const leave = await come('a')
  t.match(await noOf(come('b')), refused)
  t.match(await noOf(come('c')), refused, 'its place among the waiting is free again')
  leave()
  await come('d')
  t.strictSame(inside, ['a', 'd'])
})

t.test('a gate through which all have gone is as new', async (t) => {
  const { come, inside } = setting()
  for (const who of ['a', 'b', 'c']) (await come(who))()
  t.strictSame(inside, ['a', 'b', 'c'])
})

t.test('it tells how many are inside and how many wait', async (t) => {
  const enter = gate({ ...LIMITS, underWayMax: 2 })
  const comers = ['a', 'b', 'c'].map(() => enter())
  t.strictSame(enter.counts(), { underWay: 2, waiting: 1 })
  for (const comer of comers) (await comer)()
  t.strictSame(enter.counts(), { underWay: 0, waiting: 0 })
})
