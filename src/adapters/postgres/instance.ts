import type postgres from 'postgres'
import type { Store } from '../../core/ports/store.ts'
import { camelCase } from '../stores/columns.ts'
import { createListeners } from '../stores/listeners.ts'
import type { Migration } from '../stores/migrations.ts'
import { unavailableUnlessRejected } from './error-codes.ts'
import { isoFromPostgres } from './iso-time.ts'
import { isUpToDate, migrateOn } from './migrate.ts'
import type { Sql } from './open.ts'
import type { Ask } from './sql.ts'
import { portsOver } from './store.ts'

type Types = Record<string, unknown>
/** An instance of postgres.js, or the `sql` of one of its transactions or savepoints. */
export type PostgresInstance<T extends Types = Types> = postgres.Sql<T> | postgres.TransactionSql<T>

/** A store over an embedder's instance, with the settings and limits of the embedder. It is never closed here. */
export const postgresStore = (
  sql: PostgresInstance,
  migrations: readonly Migration[],
  everyEvent = false,
): Store => {
  const listeners = createListeners()
  const ask = askOver(sql)
  const ports = portsOver(ask, migrations, listeners.emit, { everyEvent })
  return {
    ...ports,
    migrate: () => migrateInstance(sql, migrations),
    /** Emits only the changes that this store makes. */
    watch: listeners.add,
    close: async () => {},
  }
}

/** Migrates in one transaction on a reserved connection. */
export const migrateInstance = async (
  sql: PostgresInstance,
  migrations: readonly Migration[],
): Promise<readonly string[]> => {
  if (!('reserve' in sql)) throw new Error('Migrate with the instance itself, not within a transaction.')
  if (await isUpToDate(normalizeInstance(sql), migrations, process.emitWarning)) return []
  const reserved = await sql.reserve().catch(unavailableUnlessRejected)
  return migrateOn(reserved, normalizeInstance(reserved), migrations)
}

const askOver = (sql: PostgresInstance): Ask => {
  const ask = 'savepoint' in sql ? oneAfterAnother(sql as postgres.TransactionSql) : normalizeInstance(sql)
  return (statement) => ask(statement).catch(unavailableUnlessRejected)
}

/**
 * A rejected statement would end the embedder's transaction, even if the use case can go on, as when another writer was
 * faster. So each statement has a separate savepoint, and no two of them overlap.
 */
const oneAfterAnother = (sql: postgres.TransactionSql): Ask => {
  let last: Promise<unknown> = Promise.resolve()
  return (statement) => {
    const next = last.then(() => sql.savepoint((inner) => normalizeInstance(inner)(statement)))
    last = next.catch(() => {})
    return next as Promise<never>
  }
}

/** Sends statements so that their rows do not depend on the `transform` and `types` of the instance. */
const normalizeInstance =
  (sql: PostgresInstance): Ask =>
  async (statement) =>
    decodeRows(await statement(sql as unknown as Sql).raw()) as never

type RawRows = readonly (readonly (Buffer | null)[])[] & {
  /** Null if the statement returns no rows. */
  readonly columns: readonly { readonly name: string; readonly type: number }[] | null
}

const decodeRows = (rows: RawRows): Record<string, unknown>[] => {
  const columns = (rows.columns ?? []).map(({ name, type }) => ({
    name: camelCase(name),
    read: READ[type] ?? String,
  }))
  return rows.map((row) =>
    Object.fromEntries(
      columns.map(({ name, read }, i) => [name, row[i] == null ? null : read(row[i].toString())]),
    ),
  )
}

/** How the types of our columns are read, by their PostgreSQL type numbers; all others are text. */
const READ: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === 't',
  20: Number,
  21: Number,
  23: Number,
  701: Number,
  1184: isoFromPostgres,
}
