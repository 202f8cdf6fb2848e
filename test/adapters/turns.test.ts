import t from 'tap'
import { createTurns } from '../../src/adapters/http/turns.ts'

/** Requests of tenants, and who was let in, in order. */
const setting = (atOnceMax: number, waitMsMax = 60_000) => {
  const { enter, leave } = createTurns({ atOnceMax, waitMsMax })
  const inside: string[] = []
  const come = (tenantId: string, name = tenantId): Promise<void> => {
    const turn = enter(tenantId)
    if (turn === undefined) inside.push(name)
    return turn === undefined ? Promise.resolve() : turn.then(() => void inside.push(name))
  }
  return { come, leave, inside }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

t.test('whoever finds room waits for nothing', async (t) => {
  const { come, inside } = setting(4)
  void come('a', 'a1')
  void come('a', 'a2')
  void come('b')
  t.strictSame(inside, ['a1', 'a2', 'b'])
})

t.test('what waits is let in as others leave, in order, and the tenants take turns', async (t) => {
  const { come, leave, inside } = setting(4)
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void come('a', name)
  for (const name of ['b1', 'b2', 'b3']) void come('b', name)
  t.strictSame(inside, ['a1', 'a2', 'b1'])
  for (const tenant of ['a', 'b', 'a', 'b', 'a', 'a', 'b', 'a']) {
    leave(tenant)
    await settled()
  }
  t.strictSame(inside.slice().sort(), ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'b3'])
  t.strictSame(
    inside.filter((name) => name.startsWith('a')),
    ['a1', 'a2', 'a3', 'a4', 'a5'],
  )
  t.ok(inside.indexOf('b2') < inside.indexOf('a4'), inside.join())
})

t.test('a tenant with a thousand who wait is no reason for another one to wait', async (t) => {
  const { come, inside } = setting(8)
  for (let i = 0; i < 1_000; i++) void come('loud')
  void come('quiet')
  t.equal(inside.at(-1), 'quiet')
  t.equal(inside.length, 5)
})

t.test('who has waited too long is refused, and the rest goes on', async (t) => {
  // What waits keeps no process alive; a connection does.
  const connection = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(connection))
  const { come, leave, inside } = setting(2, 1)
  void come('a', 'a1')
  const late = come('a', 'a2')
  await t.rejects(late, { kind: 'unavailable', facts: { retryAfterS: 1 } } as never)
  leave('a')
  void come('a', 'a3')
  t.strictSame(inside, ['a1', 'a3'])
})
