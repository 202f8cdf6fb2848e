import { existsSync } from 'node:fs'
import { appliedMigrations } from '../adapters/sqlite/last-migration.ts'
import { missingMigrations, readMigrations } from '../adapters/stores/migrations.ts'
import type { Config } from '../config/config.ts'
import { openReadOnly } from './read-only.ts'

/** The migrations that `migrate` would apply and, on PostgreSQL, the locks it would take on existing tables. */
export const planMigration = async ({ database, databaseDirectUrl }: Config) => {
  if (database.kind === 'postgres') {
    // Loads the driver, which an embedded database does not need.
    const { planPostgres } = await import('../adapters/postgres/migrate.ts')
    return planPostgres(databaseDirectUrl ?? database.url, readMigrations('postgres'))
  }
  const path = database.kind === 'sqlite' ? database.path : ''
  const applied = existsSync(path) ? openReadOnly(path, appliedMigrations) : []
  return { pending: missingMigrations(readMigrations('sqlite'), applied, path).map(({ name }) => name) }
}
