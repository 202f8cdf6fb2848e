import t from 'tap'
import { missingMigrations } from '../../../src/adapters/stores/migrations.ts'

const ours = [1, 2, 3].map((number) => ({ number, name: `000${number}_x.sql`, sql: `-- ${number}` }))

t.test('a database lacks the migrations after its last', async (t) => {
  t.strictSame(missingMigrations(ours, 0), ours)
  t.strictSame(missingMigrations(ours, 2), ours.slice(2))
  t.strictSame(missingMigrations(ours, 3), [])
})

t.test('a database that a newer program has migrated is refused', async (t) => {
  t.throws(
    () => missingMigrations(ours, 4),
    /newer than this program: it has migration 4, this program knows 3/,
  )
})
