import { setImmediate as nextTick } from 'node:timers/promises'
import t from 'tap'
import { shareEqual } from '../../src/adapters/share-equal.ts'
import { unavailable } from '../../src/core/engine/failures.ts'
import { refusalOf } from '../core/scene.ts'

const tenantId = 'tenant'

t.test('equal reads that arrive together are read once; different ones are read separately', async (t) => {
  const read: string[] = []
  const find = shareEqual(async ({ id }: { readonly tenantId: string; readonly id: string }) => {
    read.push(id)
    return { id }
  })
  const [first, second, other] = await Promise.all(['a', 'a', 'b'].map((id) => find({ tenantId, id })))
  t.strictSame(read, ['a', 'b'])
  t.equal(first, second)
  t.strictSame(other, { id: 'b' })
  await find({ tenantId, id: 'a' })
  t.strictSame(read, ['a', 'b', 'a'], 'one that comes later is read again')
})

t.test('a read sees everything that was written before its request', async (t) => {
  let written = 0
  const find = shareEqual(async (_: { readonly tenantId: string }) => written)
  const early = find({ tenantId })
  written = 1
  const late = find({ tenantId })
  t.strictSame(await Promise.all([early, late]), [1, 1])
})

t.test('equal reads that arrive while one is in flight share the next one', async (t) => {
  const reads: PromiseWithResolvers<number>[] = []
  const find = shareEqual((_: { readonly tenantId: string; readonly id: string }) => {
    const read = Promise.withResolvers<number>()
    reads.push(read)
    return read.promise
  })
  const early = [find({ tenantId, id: 'a' }), find({ tenantId, id: 'a' })]
  await nextTick()
  const late = [find({ tenantId, id: 'a' }), find({ tenantId, id: 'a' })]
  await nextTick()
  const other = find({ tenantId, id: 'b' })
  await nextTick()
  t.equal(reads.length, 2, 'another is not made to wait')
  reads[0]?.resolve(1)
  t.strictSame(await Promise.all(early), [1, 1])
  await nextTick()
  t.equal(reads.length, 3)
  reads[1]?.resolve(2)
  reads[2]?.resolve(3)
  t.strictSame(await Promise.all([...late, other]), [3, 3, 2])
})

t.test('after a read that failed, those that waited for it are read again', async (t) => {
  let reads = 0
  const find = shareEqual(async (_: { readonly tenantId: string }): Promise<number> => {
    reads++
    await nextTick()
    if (reads === 1) throw unavailable('The database cannot answer now.')
    return reads
  })
  const early = [find({ tenantId }), find({ tenantId })].map(refusalOf)
  await nextTick()
  const late = find({ tenantId })
  await Promise.all(early)
  t.equal(await late, 2)
})

t.test('all callers who share a read get its refusal', async (t) => {
  const find = shareEqual(async (_: { readonly tenantId: string }): Promise<never> => {
    throw unavailable('The database cannot answer now.')
  })
  const [first, second] = await Promise.all([refusalOf(find({ tenantId })), refusalOf(find({ tenantId }))])
  t.equal(first.kind, 'unavailable')
  t.strictSame(first, second)
})

t.test('while reads come one at a time, each begins at once, and so does the first of several', async (t) => {
  let begun = 0
  const find = shareEqual(async (_: { readonly tenantId: string }) => ++begun)
  await find({ tenantId })
  await nextTick()
  const second = find({ tenantId })
  t.equal(begun, 2)
  t.equal(await second, 2)
  await nextTick()
  t.strictSame(
    await Promise.all([find({ tenantId }), find({ tenantId }), find({ tenantId })]),
    [3, 4, 4],
    'the others share',
  )
  await nextTick()
  const last = find({ tenantId })
  t.equal(begun, 4, 'after several, a read waits for others of its tick')
  t.equal(await last, 5)
})
