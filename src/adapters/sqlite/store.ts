import { VERSION } from '../../config/version.ts'
import type { Signal, Store } from '../../core/ports/store.ts'
import type { GatherObserver } from '../stores/gather.ts'
import { withHandOver } from '../stores/hand-over.ts'
import { createListeners } from '../stores/listeners.ts'
import { checksumOf, type Migration, missingMigrations, readiness } from '../stores/migrations.ts'
import { createTogether } from '../stores/together.ts'
import { sqliteActivities } from './activities.ts'
import { sqliteApiKeys } from './api-keys.ts'
import { sqliteCounts } from './counts.ts'
import { sqliteDeletions } from './deletions.ts'
import { sqliteErasures } from './erasures.ts'
import { sqliteEvents } from './events.ts'
import { sqliteHooks } from './hooks.ts'
import { sqliteMerges } from './merges.ts'
import { type Database, openDatabase } from './open.ts'
import { sqliteOutbox } from './outbox.ts'
import { sqlitePageGroups } from './page-groups.ts'
import { sqlitePages } from './pages.ts'
import { sqlitePlaceholders } from './placeholders.ts'
import { sqliteProspectConflicts } from './prospect-conflicts.ts'
import { sqliteProspectCounts } from './prospect-counts.ts'
import { sqliteProspectLogs } from './prospect-logs.ts'
import { sqliteProspects } from './prospects.ts'
import { sqliteSchedules } from './schedules.ts'
import { sqliteSearchIndex } from './search-index.ts'
import { fileSizes } from './sizes.ts'
import { sqliteTenants } from './tenants.ts'
import { sqliteVersions } from './versions.ts'
import { sqliteWebhooks } from './webhooks.ts'

export type SqliteSettings = {
  /** Path of the file; it and its folder are created if missing. */
  readonly path: string
  /** How long a write waits for another process that writes. */
  readonly busyMsMax: number
  /** Whether every tenant has events, even without an enabled webhook endpoint. */
  readonly everyEvent?: boolean
  /** Called before a migration of a file that already has some; nothing is written to the file during the call. */
  readonly beforeMigrating?: () => void
  /** For the metrics: counts the writes of a verb that share a transaction. */
  readonly gathering?: ((verb: string) => GatherObserver) | undefined
}

const POLL_MS = 200

/** A store in one file, by the SQLite inside Node. Other processes may open the same file. */
export const sqliteStore = (
  { path, busyMsMax, everyEvent = false, beforeMigrating, gathering }: SqliteSettings,
  migrations: readonly Migration[],
  /** Called with a sentence when a watched file becomes unusable, and when it is usable again. */
  notify: (message: string, isUsable: boolean) => void = () => {},
): Store => {
  const database = openDatabase(path, busyMsMax)
  const listeners = createListeners()
  // Called within a transaction, which is synchronous: when the microtask runs, it is committed, or the signal is
  // superfluous.
  const emit = (...signals: Signal[]) => queueMicrotask(() => listeners.emit(...signals))
  const onChange = () => listeners.emit('prospects')
  const outbox = sqliteOutbox(database, everyEvent, () => emit('events'))
  const together = createTogether({ listsInFlightMax: 1, observerOf: gathering })
  const refuseUnready = readiness(migrations, database.place)
  let polling: NodeJS.Timeout | undefined

  /** Watches SQLite's `data_version`, which changes when another process writes to the file. */
  const watchFile = () => {
    let last = fileState(database)
    return setInterval(() => {
      const state = fileState(database)
      if (state.version === last.version && state.unusable === last.unusable) return
      listeners.emitAll()
      listeners.emit('prospects')
      if (state.unusable !== undefined) notify(state.unusable, false)
      else if (last.unusable !== undefined) notify('The database can be used again.', true)
      last = state
    }, POLL_MS).unref()
  }

  return {
    activities: sqliteActivities(database, outbox, together),
    prospects: sqliteProspects(database, outbox),
    merges: sqliteMerges(database, outbox, onChange),
    placeholders: sqlitePlaceholders(database),
    prospectConflicts: sqliteProspectConflicts(database),
    prospectLogs: sqliteProspectLogs(database),
    searchIndex: sqliteSearchIndex(database),
    counts: sqliteCounts(database),
    prospectCounts: sqliteProspectCounts(database),
    pageGroups: sqlitePageGroups(database, outbox),
    ...withHandOver(sqlitePages(database, outbox, () => listeners.emit('versions'), together)),
    versions: sqliteVersions(database, outbox),
    schedules: sqliteSchedules(database),
    deletions: sqliteDeletions(database, outbox, () => listeners.emit('deletions')),
    erasures: sqliteErasures(database, outbox, onChange),
    events: sqliteEvents(database, emit),
    webhooks: sqliteWebhooks(database, () => emit('events', 'deliveries')),
    hooks: sqliteHooks(database, () => listeners.emit('keys')),
    apiKeys: sqliteApiKeys(database, () => listeners.emit('keys')),
    tenants: sqliteTenants(database, () => listeners.emit('keys')),
    // A write is one transaction under the lock of the file: whatever began before has ended.
    moments: { now: async () => '', arePast: async (moments) => moments.map(() => true) },
    migrate: async () => migrate(database, migrations, beforeMigrating),
    ready: async () => {
      database.refuseMoved()
      refuseUnready(database.appliedMigrations())
      await database.refuseNoWrites()
    },
    watch: (listener) => {
      polling ??= watchFile()
      return listeners.add(listener)
    },
    sizes: () => fileSizes(database.place),
    close: async () => {
      listeners.clear()
      clearInterval(polling)
      database.close()
    },
  }
}

/** The version of the file's data, or the reason why the file cannot be used now. */
type FileState = { readonly version?: number | undefined; readonly unusable?: string }
const fileState = (database: Database): FileState => {
  try {
    return { version: database.get<{ dataVersion: number }>('pragma data_version')?.dataVersion }
  } catch (error) {
    const { cause = error } = error as Error
    return { unusable: (cause as Error).message }
  }
}

const ADD_MIGRATION = `
  insert into schema_migrations (number, name, applied_at, checksum, version)
  values (:number, :name, strftime('%FT%H:%M:%fZ'), :checksum, '${VERSION}')`
/** Migrates in one transaction that locks out other writers, so that several processes may start at once. */
const migrate = (
  database: Database,
  migrations: readonly Migration[],
  beforeMigrating = () => {},
): Promise<readonly string[]> =>
  database.write(() => {
    database.exec(`
      create table if not exists schema_migrations (
        number integer primary key, name text not null, applied_at text not null, checksum text not null,
        version text not null
      ) strict`)
    const applied = database.appliedMigrations()
    const missing = missingMigrations(migrations, applied, database.place)
    if (applied.length > 0 && missing.length > 0) beforeMigrating()
    for (const migration of missing) {
      database.exec(migration.sql)
      database.run(ADD_MIGRATION, { ...migration, checksum: checksumOf(migration.sql) })
    }
    return missing.map(({ name }) => name)
  })
