import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { unavailableUnlessRejected } from '../../../src/adapters/postgres/error-codes.ts'
import { columns, unlessOvertaken } from '../../../src/adapters/postgres/sql.ts'
import { noOf } from '../../core/scene.ts'

t.test('rows are written out in order, and nothing is kept for each number of them', async (t) => {
  const { values } = columns('thing', 'a, b int')
  const rowsOf = (count: number) => Array.from({ length: count }, (_, a) => ({ a: `${a}`, b: a }))
  t.match(values(rowsOf(2)), {
    texts: ['(a, b) values ', ', ', ''],
    parts: [
      { texts: ['(', '::text, ', '::text::int)'], parts: ['0', 0] },
      { texts: ['(', '::text, ', '::text::int)'], parts: ['1', 1] },
    ],
  })
  setFlagsFromString('--expose_gc')
  const collect = runInNewContext('gc') as () => void
  const used = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = used()
  for (let count = 1; count <= 1_000; count++) values(rowsOf(count))
  t.ok(used() - before < 5_000_000)
})

t.test('a deadlock overtakes a write, and makes everything else unavailable', async (t) => {
  const error = Object.assign(new Error('deadlock detected'), { name: 'PostgresError', code: '40P01' })
  const asked = Promise.reject(error).catch(unavailableUnlessRejected)
  t.match(await noOf(asked), { kind: 'unavailable' })
  t.equal(await unlessOvertaken(asked), 'overtaken')
})
