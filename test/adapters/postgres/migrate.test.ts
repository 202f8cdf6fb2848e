import t from 'tap'
import { migrateOn } from '../../../src/adapters/postgres/migrate.ts'
import { DomainFailure } from '../../../src/core/engine/failures.ts'

t.test(
  'a migration that meets a database that only starts is refused as unavailable, not failed',
  async (t) => {
    const starting = Object.assign(new Error('the database system is starting up'), { code: '57P03' })
    const connection = { release: () => {} } as Parameters<typeof migrateOn>[0]
    const refused = migrateOn(connection, () => Promise.reject(starting), [])
    await t.rejects(refused, new DomainFailure('unavailable', 'The database cannot answer yet.'))
  },
)
