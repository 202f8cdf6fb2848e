import type postgres from 'postgres'
import type { Migration } from '../../core/migrations.ts'
import type { Signal, Store } from '../../core/ports.ts'
import { type Ask, isoFromPostgres, type Sql, unavailable } from './connect.ts'
import { endsConnection, isWaiting, serverSaidNo } from './error-codes.ts'
import { checkServer, isUpToDate, migrateOn } from './migrate.ts'
import { portsOver } from './store.ts'

type Types = Record<string, unknown>
/** An instance of postgres.js, or the `sql` of one of its transactions or savepoints. */
export type PostgresInstance<T extends Types = Types> = postgres.Sql<T> | postgres.TransactionSql<T>
type Transaction = postgres.TransactionSql

/** A store over somebody else's instance, which has settings and limits of its own and is never closed here. */
export const postgresStore = (given: PostgresInstance, migrations: readonly Migration[]): Store => {
  let tell: (signal: Signal) => void = () => {}
  const ports = portsOver(askOver(given), migrations, () => tell('versions'))
  return {
    ...ports,
    apiKeys: {
      ...ports.apiKeys,
      end: async (apiKeyId, when) => {
        await ports.apiKeys.end(apiKeyId, when)
        tell('keys')
      },
    },
    migrate: () => migrateInstance(given, migrations),
    /** Told of what this store does, and of nothing else. */
    watch: (told) => {
      tell = told
    },
    close: async () => {},
  }
}

/** In a transaction of its own, on one connection of the instance. */
export const migrateInstance = async (
  given: PostgresInstance,
  migrations: readonly Migration[],
): Promise<void> => {
  if (!('reserve' in given)) throw new Error('Migrate with the instance itself, not within a transaction.')
  const reserved = await given.reserve().catch(notNow)
  const sql = asOurs(reserved)
  let isLost = false
  try {
    await checkServer(sql, (message) => process.emitWarning(message))
    if (!(await isUpToDate(sql, migrations))) await migrateOn(sql, migrations)
  } catch (error) {
    // The driver has taken a lost connection back, and would crash over anything that is done with it.
    isLost = isWaiting(error) && endsConnection(error)
    if (!isLost) await sql`rollback`.catch(() => {})
    throw isWaiting(error) ? unavailable('The database cannot answer yet.', error) : error
  } finally {
    if (!isLost) reserved.release()
  }
}

const askOver = (given: PostgresInstance): Ask => {
  const send = 'savepoint' in given ? oneAfterAnother(given as Transaction) : onAnyConnection(given)
  return (statement) => send(statement).catch(notNow)
}

const onAnyConnection = (given: PostgresInstance): Ask => {
  const sql = asOurs(given)
  return async (statement) => statement(sql)
}

/**
 * Within a transaction a statement that is refused would end the transaction, also where the use case has an answer to
 * the refusal, as when somebody else got there first. So each has a savepoint of its own, and no two of them cross.
 */
const oneAfterAnother = (given: Transaction): Ask => {
  let last: Promise<unknown> = Promise.resolve()
  return <Rows>(statement: Parameters<Ask>[0]) => {
    const next = last.then(() => given.savepoint(async (sql) => statement(asOurs(sql))))
    last = next.catch(() => {})
    return next as Promise<Rows>
  }
}

const notNow = (error: unknown): never => {
  if (serverSaidNo(error)) throw error
  throw unavailable('The database cannot answer now.', error)
}

/**
 * The instance as the statements here know it: columns in camelCase and times as ISO text, whatever its own `transform`
 * and `types` make of them. A query stays one of the driver's, because it may be a part of another; only what comes of
 * waiting for it is turned.
 */
const asOurs = (given: PostgresInstance): Sql => {
  const tag = (strings: TemplateStringsArray, ...values: never[]) => {
    const query = given(strings, ...values).raw()
    const settle = query.then
    // biome-ignore lint/suspicious/noThenProperty: a query is a promise, and what awaiting it gives is the matter here
    query.then = (done, failed) => settle.call(query, turned as never).then(done as never, failed)
    return query
  }
  return Object.assign(tag, { unsafe: (text: string) => given.unsafe(text) }) as unknown as Sql
}

type RawRows = readonly (readonly (Buffer | null)[])[] & {
  /** Null where the statement answers no rows. */
  readonly columns: readonly { readonly name: string; readonly type: number }[] | null
}

const turned = (rows: RawRows): Record<string, unknown>[] => {
  const columns = (rows.columns ?? []).map(({ name, type }) => ({
    name: nameOf(name),
    read: READ[type] ?? String,
  }))
  return rows.map((row) =>
    Object.fromEntries(
      columns.map(({ name, read }, i) => [name, row[i] == null ? null : read(row[i].toString())]),
    ),
  )
}

/** `page_group_id`, or what a transform made of it: `pageGroupId`, `PageGroupId`, `page-group-id`. */
const nameOf = (column: string): string =>
  column
    .replace(/^[A-Z]/, (letter) => letter.toLowerCase())
    .replace(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** How the types of our columns are read, by the numbers that PostgreSQL has for them; the others are text. */
const READ: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === 't',
  20: Number,
  21: Number,
  23: Number,
  1184: isoFromPostgres,
}
