import { existsSync } from 'node:fs'
import { appliedMigrations } from '../adapters/sqlite/last-migration.ts'
import { missingMigrations, readMigrations } from '../adapters/stores/migrations.ts'
import type { Config } from '../config/config.ts'
import { openReadOnly } from './read-only.ts'

/** What `migrate` would do: the migrations and, on PostgreSQL, the locks it would take on existing tables. */
export const planMigration = async ({ database, databaseDirectUrl, databaseCluster }: Config) => {
  if (database.kind === 'postgres') {
    const url = databaseDirectUrl ?? database.url
    // Loads the driver, which an embedded database does not need.
    if (databaseCluster) return (await import('./cluster.ts')).planCluster(url, readMigrations('postgres'))
    const { planPostgres } = await import('../adapters/postgres/migrate.ts')
    return planPostgres(url, readMigrations('postgres'))
  }
  const path = database.kind === 'sqlite' ? database.path : ''
  const applied = existsSync(path) ? openReadOnly(path, appliedMigrations) : []
  return { pending: missingMigrations(readMigrations('sqlite'), applied, path).map(({ name }) => name) }
}
