/** The store on PostgreSQL, for programs that have an instance of postgres.js of their own. */
import {
  migrateInstance,
  type PostgresInstance,
  postgresStore as storeOver,
} from './adapters/postgres/instance.ts'
import { readMigrations } from './adapters/read-migrations.ts'
import type { Store } from './core/ports.ts'

export type { PostgresInstance } from './adapters/postgres/instance.ts'

/**
 * A store on an instance of postgres.js, PostgreSQL 14 or newer, whatever its `transform` and `types`. Its tables are
 * looked for along the `search_path` of the instance, and made in the first schema of it: give them a schema of their own.
 *
 * Over the `sql` of a transaction everything that the store does is part of that transaction. Such a store
 * cannot migrate; its writes belong to nobody until the transaction has been committed. While it works nothing else may
 * be sent on that transaction: what the store tries again it rolls back to where it began.
 *
 * Limits of connections and of time are those of the instance; `close` leaves it open. What other processes do is not
 * told here at once: a publisher finds it when it next looks.
 */
export const postgresStore = <Types extends Record<string, unknown>>(sql: PostgresInstance<Types>): Store =>
  storeOver(sql as unknown as PostgresInstance, readMigrations('postgres'))

/** Makes the tables, or brings them up to date, in one transaction under a lock; the same as `migrate` of a store. */
export const migrate = <Types extends Record<string, unknown>>(sql: PostgresInstance<Types>): Promise<void> =>
  migrateInstance(sql as unknown as PostgresInstance, readMigrations('postgres'))
