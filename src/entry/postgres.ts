/** The store on PostgreSQL, for programs that bring their own instance of postgres.js. */
import {
  migrateInstance,
  type PostgresInstance,
  postgresStore as storeOver,
} from '../adapters/postgres/instance.ts'
import { readMigrations } from '../adapters/stores/migrations.ts'
import { checkOptions } from '../config/check-options.ts'
import type { Store } from '../core/ports/store.ts'

export type { PostgresInstance } from '../adapters/postgres/instance.ts'

/**
 * A store on an instance of postgres.js, PostgreSQL 14 or newer, whatever its `transform` and `types`. Its tables are
 * found along the `search_path` of the instance and created in its first schema: give them a separate schema.
 *
 * Over the `sql` of a transaction, everything that the store does is part of that transaction. Such a store cannot
 * migrate, and its writes are final only when the transaction is committed. Send nothing else on that transaction while
 * the store works: a write that it retries is rolled back to where it began.
 *
 * The instance's limits of connections and time apply; `close` leaves it open. `watch` emits the changes of this store,
 * not those of other processes: a publisher finds their pages at its next poll.
 *
 * With `everyEvent` tenants without webhook endpoints have events too.
 */
export const postgresStore = <Types extends Record<string, unknown>>(
  sql: PostgresInstance<Types>,
  { everyEvent, ...unknownOptions }: { readonly everyEvent?: boolean } = {},
): Store => storeOver(instanceOf(sql, unknownOptions), readMigrations('postgres'), everyEvent)

/** Creates or updates the tables, in one transaction under a lock; the same as `migrate` of a store. */
export const migrate = <Types extends Record<string, unknown>>(sql: PostgresInstance<Types>) =>
  migrateInstance(instanceOf(sql), readMigrations('postgres'))

/** Refuses options that do not exist. */
const instanceOf = (sql: unknown, unknownOptions = {}) =>
  checkOptions('postgresStore', { ...unknownOptions, sql }).sql as PostgresInstance
