/** The embedded database, for programs that bring their own server. */
import './needs-node.ts'
import { sqliteStore as storeOver } from '../adapters/sqlite/store.ts'
import { readMigrations } from '../adapters/stores/migrations.ts'
import { checkOptions } from '../config/check-options.ts'
import type { Store } from '../core/ports/store.ts'

/** Which file holds the data. */
export type SqliteOptions = {
  /** A file, created with its folder if missing; `:memory:` keeps nothing. */
  readonly path: string
  /** How long a write waits for another process that writes. */
  readonly busyMsMax?: number | undefined
  /** Tenants without webhook endpoints have events too, for the feed. */
  readonly everyEvent?: boolean | undefined
}

/** A store on one file, by the SQLite inside Node. Call `migrate` before anything else, and `close` at the end. */
export const sqliteStore = (options: SqliteOptions): Store => {
  const { path, busyMsMax = 5_000, everyEvent = false } = checkOptions('sqliteStore', options)
  try {
    return storeOver({ path, busyMsMax, everyEvent }, readMigrations('sqlite'))
  } catch (cause) {
    const { message } = cause as Error
    throw message.includes(path) ? cause : new Error(`${path}: ${message}.`, { cause })
  }
}
