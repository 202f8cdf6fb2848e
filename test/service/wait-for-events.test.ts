import t from 'tap'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { cursorOf } from '../../src/core/events/list-events.ts'
import { waitForEvents } from '../../src/service/wait-for-events.ts'

t.test('ten tenants with 100 readers each leave an equal share to the readers of others', async (t) => {
  const slice = { items: [], hasMore: false, nextCursor: cursorOf(0) }
  const gatherOptions = { listLengthMax: 1, listsInFlightMax: 1 }
  const read = waitForEvents({ store: memoryStore(), read: async () => ({ value: slice }), gatherOptions })
  const letGo = new AbortController()
  const ended: string[] = []
  const readersOf = (tenantId: string, count: number) =>
    Array.from({ length: count }, () =>
      read({ tenantId, limit: 10, wait: 25, signal: letGo.signal }).then(
        () => ended.push(tenantId),
        () => ended.push(`${tenantId} refused`),
      ),
    )
  const loud = Array.from({ length: 10 }, (_, i) => readersOf(`t${i}`, 100)).flat()
  await new Promise(setImmediate)
  t.strictSame(ended, [])
  const quiet = readersOf('quiet', 92)
  await new Promise(setImmediate)
  t.equal(ended.filter((what) => what === 'quiet refused').length, 2, 'beyond its share of 90')
  t.equal(ended.length, 92, 'each of the others took the place of a reader of the tenants with most')
  letGo.abort()
  await Promise.all([...loud, ...quiet])
  t.equal(ended.filter((what) => what === 'quiet').length, 90)
})
