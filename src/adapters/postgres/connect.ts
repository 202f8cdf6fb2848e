import postgres from 'postgres'
import { DomainFailure, unavailable } from '../../core/failures.ts'
import { camelCase } from '../camel-case.ts'
import { isConnectionFatal, rejectedByServer } from './error-codes.ts'
import { createSemaphore, type PoolCounts } from './semaphore.ts'
import { withTimeout } from './with-timeout.ts'

export type PostgresSettings = {
  readonly url: string
  readonly connectionsMax: number
  readonly statementMsMax: number
  readonly lockMsMax: number
  readonly waitingMax: number
  readonly waitMsMax: number
  /** Where `url` is a PgBouncer in transaction mode: the address of PostgreSQL itself, if it is known. */
  readonly pooler?: { readonly directUrl: string | null }
  /** Sees every statement with its parameters before it is sent. For tests. */
  readonly onStatement?: (text: string, parameters: readonly unknown[]) => void
  readonly observer?: DatabaseObserver
}
/** What the metrics need from the connections. */
type DatabaseObserver = {
  /** Gets a function that counts the statements in flight, and those that wait for a connection. */
  readonly pool: (counts: () => PoolCounts) => void
  /** Called after each statement. */
  readonly statement: (ms: number, outcome: 'answered' | 'failed') => void
}
export type Sql = postgres.Sql
/** `close` ends whatever is connected, also after an `end`; the driver has it, its types do not. */
type Pool = Sql & { readonly close: () => Promise<void> }
type Connection = { readonly pool: Pool; readonly until: number }
type Rows = readonly (object | undefined)[]
type Statement<Answer extends Rows> = (sql: Sql) => postgres.PendingQuery<Answer>

/** Sends one statement and answers its rows. Refuses `unavailable` if the database cannot answer in time. */
export type Ask = <Answer extends Rows>(statement: Statement<Answer>) => Promise<Answer>
/** Without limits, on connections that somebody else looks after. */
export const askOn =
  (sql: Sql): Ask =>
  async (statement) =>
    statement(sql)

/** A statement that has not answered by its own limit is given this long for the limit itself to arrive. */
const GRACE_MS = 1_000
const END_AGAIN_MS = 10_000
/** Not all at the same moment. */
const lifeMs = (): number => 60_000 * (1 + Math.random())

/**
 * Connections to PostgreSQL behind a gate: at most as many statements under way as there are connections, a bounded
 * number waiting a bounded time. The driver itself bounds neither, nor does it settle every statement whose connection
 * died: each has a deadline of ours, and the connection that missed it is replaced. So is one that was lost under a
 * statement: the driver keeps what it was about to send and the last error, and the next statement would hang on the
 * one or be refused with the other.
 *
 * Each connection is a pool of one of the driver's. A pool of several that are not all busy at some time or other grows
 * slower with every statement: it looks for a connection among all the places where one has ever stood. And each is
 * replaced after a minute or two: a plan made when the tables were empty need not be the one to have later.
 */
export const connect = (settings: PostgresSettings) => {
  const connections = new Set<Connection>()
  const free: Connection[] = []
  let closed = false
  const semaphore = createSemaphore({
    inFlightMax: settings.connectionsMax,
    waitingMax: settings.waitingMax,
    waitMsMax: settings.waitMsMax,
  })
  settings.observer?.pool(semaphore.counts)

  const open = (): Connection => {
    const connection = { pool: openConnection(settings), until: performance.now() + lifeMs() }
    connections.add(connection)
    return connection
  }
  const discard = (connection: Connection) => {
    connections.delete(connection)
    return endPool(connection.pool, 0)
  }
  const take = (): Connection => {
    const connection = free.pop()
    if (connection === undefined) return open()
    if (performance.now() < connection.until) return connection
    void discard(connection)
    return open()
  }

  const ask: Ask = async (statement) => {
    const release = await semaphore.acquire()
    if (closed) {
      release()
      throw unavailable('The service is stopping.')
    }
    const connection = take()
    const beganMs = performance.now()
    let isLost = false
    let outcome: 'answered' | 'failed' = 'failed'
    try {
      const rows = await withTimeout(statement(connection.pool), settings.statementMsMax + GRACE_MS)
      outcome = 'answered'
      return rows
    } catch (error) {
      const isLate = error instanceof DomainFailure
      isLost = isLate || isConnectionFatal(error)
      if (isLate || rejectedByServer(error)) throw error
      throw unavailable('The database cannot answer now.', error)
    } finally {
      settings.observer?.statement(performance.now() - beganMs, outcome)
      if (isLost) void discard(connection)
      else free.push(connection)
      release()
    }
  }
  const close = async (): Promise<void> => {
    closed = true
    await Promise.all([...connections].map(({ pool }) => endPool(pool, 5)))
  }
  return { ask, close }
}

/**
 * Behind a pooler each statement may reach another connection: none can rely on what was prepared before, and the
 * settings of a session, which the pooler refuses, are the role's.
 */
const openConnection = (settings: PostgresSettings): Pool => {
  const { url, statementMsMax, lockMsMax, pooler, onStatement } = settings
  return openPostgres(url, {
    max: 1,
    max_lifetime: null,
    ...(pooler
      ? { prepare: false }
      : { connection: { statement_timeout: statementMsMax, lock_timeout: lockMsMax, ...ONE_PLAN } }),
    ...(onStatement && { debug: (_connection, text, parameters) => onStatement(text, parameters) }),
  })
}

/**
 * One plan for each statement, made once: a new one for each call costs more than the call. It goes by nested loops
 * along indexes whatever the tables held when it was made; statements are written so that this is the plan to have.
 *
 * Made while a tenant had nothing, a plan would read all that the tenant has if it could. So a list brings the tenant
 * with each of its rows, and is joined by that: then a row is looked up by all of its key, or not at all.
 */
export const ONE_PLAN = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
} as const

type Options = postgres.Options<Record<string, never>> & {
  /** The driver has it; its types do not. */
  readonly onnotify?: (channel: string, payload: string) => void
}

/** What every connection of ours has in common; statements are in UTC and their columns arrive in camelCase. */
export const openPostgres = (url: string, options: Options): Pool => {
  const { address, server } = parseAddress(url)
  return postgres(address, {
    connect_timeout: 3,
    // The driver's own pauses grow to 20 seconds.
    backoff: (retries: number) => Math.min(0.05 * retries, 0.5),
    // The driver's own way is to print notices to stdout.
    onnotice: () => {},
    // Spares a query at each connect: arrays are written by `textArray`.
    fetch_types: false,
    transform: { column: { from: camelCase } },
    types: { time: { to: 1184, from: [1184], serialize: String, parse: isoFromPostgres } },
    ...server,
    ...options,
    connection: {
      application_name: 'prospect-pages',
      TimeZone: 'UTC',
      DateStyle: 'ISO, MDY',
      ...options.connection,
    },
  }) as unknown as Pool
}

/**
 * `?host=` and `&port=` name the server, as everywhere with PostgreSQL; a host that is a folder holds a socket. The
 * driver knows them only as options.
 */
export const parseAddress = (url: string) => {
  const [address = '', query = ''] = url.split(/\?(.*)/s)
  const parameters = query.split('&')
  const isServer = (parameter: string) => /^(host|port)=/.test(parameter)
  const others = parameters.filter((parameter) => !isServer(parameter)).join('&')
  const server: { host?: string; port?: number } = Object.fromEntries(
    new URLSearchParams(parameters.filter(isServer).join('&')),
  )
  return { address: others === '' ? address : `${address}?${others}`, server }
}

/**
 * The driver's `end` may never resolve after a lost connection; its own time limit, in seconds, sees to it. With a
 * statement that has not settled it may connect once more after its end.
 */
export const endPool = async (sql: Sql, timeoutS: number): Promise<void> => {
  await sql.end({ timeout: timeoutS }).catch(() => {})
  setTimeout(() => void (sql as Pool).close().catch(() => {}), END_AGAIN_MS).unref()
}

/** `2026-01-31 09:05:00.12+00`: sessions are in UTC, and PostgreSQL leaves out zeros at the end. */
export const isoFromPostgres = (text: string): string => {
  if (text[4] !== '-') throw new Error('PostgreSQL must write times by the DateStyle ISO.')
  const zone = text.length - 3
  if (!text.endsWith('+00') || zone < 19 || zone > 23) return new Date(text).toISOString()
  const fraction = zone === 19 ? '.' : text.slice(19, zone)
  return `${text.slice(0, 10)}T${text.slice(11, 19)}${fraction.padEnd(4, '0')}Z`
}
