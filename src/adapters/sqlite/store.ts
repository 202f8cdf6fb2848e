import { DomainFailure } from '../../core/failures.ts'
import { type Migration, missingMigrations } from '../../core/migrations.ts'
import type { Signal, Store } from '../../core/ports.ts'
import { sqliteActivities } from './activities.ts'
import { sqliteApiKeys } from './api-keys.ts'
import { sqliteBacklog } from './backlog.ts'
import { type Database, openDatabase } from './open.ts'
import { sqlitePageGroups } from './page-groups.ts'
import { sqlitePages } from './pages.ts'
import { sqliteTenants } from './tenants.ts'
import { sqliteVersions } from './versions.ts'

export type SqliteSettings = {
  /** A file, made where it is missing with its folder. */
  readonly path: string
  /** How long a write waits for another process that writes. */
  readonly busyMsMax: number
}

const LOOK_EVERY_MS = 200

/** Everything kept in one file, by the SQLite inside Node. Other processes may open the same file meanwhile. */
export const sqliteStore = (
  { path, busyMsMax }: SqliteSettings,
  migrations: readonly Migration[],
): Store & { readonly backlog: ReturnType<typeof sqliteBacklog> } => {
  const database = openDatabase(path, busyMsMax)
  let told: (signal: Signal) => void = () => {}
  let looking: NodeJS.Timeout | undefined

  return {
    activities: sqliteActivities(database),
    pageGroups: sqlitePageGroups(database),
    pages: sqlitePages(database, () => told('versions')),
    versions: sqliteVersions(database),
    apiKeys: sqliteApiKeys(database, () => told('keys')),
    tenants: sqliteTenants(database),
    backlog: sqliteBacklog(database),
    migrate: async () => migrate(database, migrations),
    ready: async () => {
      if (appliedIn(database) !== migrations.length)
        throw new DomainFailure('unavailable', 'The database is not migrated.', { retryAfterS: 5 })
    },
    /** What this process does is told at once; what another does to the file shows in SQLite's `data_version`. */
    watch: (tell) => {
      told = tell
      let seen = dataVersion(database)
      looking = setInterval(() => {
        const now = dataVersion(database)
        if (now === seen) return
        seen = now
        tell('keys')
        tell('versions')
      }, LOOK_EVERY_MS)
      looking.unref()
    },
    close: async () => {
      clearInterval(looking)
      database.close()
    },
  }
}

/** Null while the file cannot be read; who watches goes on. */
const dataVersion = (database: Database): number | null => {
  try {
    return database.get<{ dataVersion: number }>('pragma data_version')?.dataVersion ?? null
  } catch {
    return null
  }
}

/** In one transaction that nobody else can write in, so that several processes may start at once. */
const migrate = (database: Database, migrations: readonly Migration[]): Promise<void> =>
  database.write(() => {
    database.exec(`
      create table if not exists schema_migrations (
        number integer primary key, name text not null, applied_at text not null
      ) strict`)
    for (const { number, name, sql } of missingMigrations(migrations, appliedIn(database))) {
      database.exec(sql)
      database.run(
        "insert into schema_migrations (number, name, applied_at) values (?, ?, strftime('%FT%H:%M:%fZ'))",
        number,
        name,
      )
    }
  })

/** The number of the last migration; 0 where there is not even a list of them. */
const appliedIn = (database: Database): number => {
  if (database.get("select 1 from sqlite_schema where name = 'schema_migrations'") === undefined) return 0
  const last = 'select coalesce(max(number), 0) as applied from schema_migrations'
  return database.get<{ applied: number }>(last)?.applied ?? 0
}
