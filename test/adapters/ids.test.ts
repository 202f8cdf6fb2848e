import t from 'tap'
import { createNewId } from '../../src/adapters/ids.ts'
import { timeOfId } from '../../src/core/engine/id-times.ts'
import type { IdPrefix } from '../../src/core/ports/world.ts'

const NOW = Date.UTC(2026, 0, 1)
const PREFIXES: IdPrefix[] = [
  'prospect',
  'prospectlog',
  'pagegroup',
  'page',
  'pageversion',
  'tenant',
  'brand',
  'apikey',
  'erasure',
  'merge',
  'event',
  'webhookendpoint',
  'hook',
]
/** A clock that shows these times one after the other, and then the last. */
const clockOf = (times: readonly number[]) => {
  const left = [...times]
  return () => (left.length > 1 ? left.shift() : left[0]) ?? NOW
}
const sortable = (id: string) => id.split('_')[1] ?? ''

t.test('an id is its prefix and 26 characters in lower case', async (t) => {
  const newId = createNewId()
  for (const prefix of PREFIXES) t.match(newId(prefix), new RegExp(`^${prefix}_[a-z0-9]{26}$`))
})

t.test('ids of one millisecond, and of a clock that is set back, still sort by age', async (t) => {
  const times = [...Array(2_000).fill(NOW), NOW - 60_000, NOW - 1, NOW, NOW + 1, NOW - 3_600_000]
  const newId = createNewId(clockOf(times))
  const ids = times.map((_, i) => sortable(newId(PREFIXES[i % PREFIXES.length] ?? 'page')))
  t.strictSame(ids, ids.toSorted())
  t.equal(new Set(ids).size, times.length)
})

t.test('after a clock that was far ahead is set right, ids have the right time', async (t) => {
  const times = [NOW + 365 * 86_400_000, NOW, NOW + 1, NOW]
  const newId = createNewId(clockOf(times))
  newId('page')
  const ids = [newId('page'), newId('page'), newId('page')]
  t.strictSame(ids.map(timeOfId), [NOW, NOW + 1, NOW + 1])
  t.strictSame(ids, ids.toSorted())
})

t.test('two processes at the same moment make different ids', async (t) => {
  const clock = () => NOW
  t.not(createNewId(clock)('page'), createNewId(clock)('page'))
})
