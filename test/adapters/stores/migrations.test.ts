import t from 'tap'
import { checksumOf, missingMigrations } from '../../../src/adapters/stores/migrations.ts'

const ours = [1, 2, 3].map((number) => ({ number, name: `000${number}_x.sql`, sql: `-- ${number}` }))
const applied = ours.map(({ number, sql }) => ({ number, checksum: checksumOf(sql), version: '0.1.0' }))

t.test('a database lacks the migrations after its last', async (t) => {
  t.strictSame(missingMigrations(ours, []), ours)
  t.strictSame(missingMigrations(ours, applied.slice(0, 2)), ours.slice(2))
  t.strictSame(missingMigrations(ours, applied), [])
})

t.test('a database that a newer program has migrated is refused, with both versions', async (t) => {
  const newer = [...applied, { number: 4, checksum: 'x', version: '9.8.7' }, { number: 5, version: '9.9.0' }]
  t.throws(
    () => missingMigrations(ours, newer),
    /newer than this program: prospect-pages 9\.8\.7 applied migration 4, this is \d+\.\d+\.\d+ and knows 3/,
  )
})
