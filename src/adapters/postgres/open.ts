import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import postgres from 'postgres'
import { type PostgresUrl, urlNow } from '../../config/database-address.ts'
import {
  type PostgresAddress,
  type PostgresServer,
  readPostgresAddress,
} from '../../config/postgres-address.ts'
import { camelCase } from '../stores/columns.ts'
import type { GatherObserver } from '../stores/gather.ts'
import { dial, nameOf } from './dial.ts'
import { isoFromPostgres } from './iso-time.ts'

export type Sql = postgres.Sql
/** `close` ends every connection, even after an `end`; the driver has it, its types do not. */
export type Pool = Sql & { readonly close: () => Promise<void> }

/**
 * One plan for each statement, made once: planning each call costs more than the call. The plan uses nested loops over
 * indexes, whatever the tables contained at planning time; statements are written so that this is the best plan.
 *
 * A plan made while a tenant had no rows could later read all rows of that tenant. So a list contains the tenant in
 * each of its rows, and is joined by that: a row can only be looked up by its whole key.
 */
export const ONE_PLAN = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
} as const

export type PoolCounts = { readonly inFlight: number; readonly waiting: number }
export type PostgresSettings = {
  readonly url: PostgresUrl
  readonly connectionsMax: number
  readonly statementMsMax: number
  readonly lockMsMax: number
  readonly waitingMax: number
  readonly waitMsMax: number
  /** Set if `url` is a PgBouncer in transaction mode; with the address of PostgreSQL, if that is known. */
  readonly pooler?: { readonly directUrl: PostgresUrl | null }
  /** Whether every tenant uses events, with webhook endpoints or without. */
  readonly everyEvent?: boolean
  /** For the metrics. */
  readonly observer?: {
    /** Gets a function that counts the statements in flight, and those that wait for a connection. */
    readonly pool: (counts: () => PoolCounts) => void
    readonly statement: (ms: number, outcome: 'answered' | 'failed') => void
    /** Counts the reads of a verb that share a statement. */
    readonly gathering: (verb: string) => GatherObserver
  }
}

type Options = postgres.Options<Record<string, never>> & {
  /** The driver has these options; its types do not. */
  readonly onnotify?: (channel: string, payload: string) => void
  readonly socket?: () => Promise<Duplex>
}

/** Opens a connection pool with the settings of all connections: times in UTC, columns in camelCase. */
export const openPostgres = (url: PostgresUrl, options: Options): Pool => {
  const address = readPostgresAddress(urlNow(url))
  if (typeof url === 'string') return openAt(address, options)
  // The driver asks for the password at each connection, such as the one after a lost one.
  return openAt(address, { ...options, password: () => readPostgresAddress(url()).password ?? '' })
}

const openAt = (address: PostgresAddress, options: Options): Pool => {
  const { servers, user, password, database, session } = address
  const [first] = servers
  return postgres({
    // The driver names the server in errors; it is `socket` that connects.
    ...(first && 'path' in first ? first : { host: [first?.name ?? ''], port: [first?.port ?? 0] }),
    socket: () => dial(address, refuseIfReadOnly(address)),
    ssl: false,
    ...(user && { user }),
    ...(password && { password }),
    ...(database && { database }),
    connect_timeout: CONNECT_S_MAX,
    // The default pauses of the driver grow to 20 seconds.
    backoff: (retries: number) => Math.min(0.05 * retries, 0.5),
    // By default the driver prints notices to stdout.
    onnotice: () => {},
    // Saves a query at each connect: `textArray` writes arrays.
    fetch_types: false,
    transform: { column: { from: camelCase } },
    types: { time: { to: 1184, from: [1184], serialize: String, parse: isoFromPostgres } },
    ...options,
    connection: {
      application_name: 'prospect-pages',
      TimeZone: 'UTC',
      DateStyle: 'ISO, MDY',
      ...options.connection,
      ...session,
    },
  } as Options) as unknown as Pool
}

/**
 * Behind a pooler each statement may reach another connection, so none can rely on a prepared statement. The pooler
 * refuses session settings; the role has them instead.
 */
export const openConnection = (settings: PostgresSettings): Pool => {
  const { url, statementMsMax, lockMsMax, pooler } = settings
  const limits = { statement_timeout: statementMsMax, lock_timeout: lockMsMax }
  return openPostgres(url, {
    max: 1,
    max_lifetime: null,
    ...(pooler && { prepare: false }),
    ...(!pooler && { connection: { ...limits, ...ONE_PLAN } }),
  })
}

const CONNECT_S_MAX = 3
const SESSION = `
  select current_setting('transaction_read_only') as read_only, pg_is_in_recovery() as is_standby`
/**
 * The driver looks only for `default_transaction_read_only`, which is off on a standby. So a server of several, or with
 * `target_session_attrs`, is asked on a connection before the one that is used.
 */
const refuseIfReadOnly =
  (address: PostgresAddress) =>
  async (server: PostgresServer): Promise<void> => {
    const { targetSessionAttrs: wanted } = address
    if (wanted === 'any') return
    const only = { ...address, servers: [server], targetSessionAttrs: 'any' } as const
    const sql = openAt(only, { max: 1, prepare: false })
    const timeout = pause(2 * address.connectMsMax, [], { ref: false })
    const rows = Promise.race([sql.unsafe<{ readOnly: string; isStandby: boolean }[]>(SESSION), timeout])
    const [row] = await rows.finally(() => endPool(sql, 0))
    if (row === undefined) throw new Error(`${nameOf(server)} does not answer`)
    if (row.isStandby || (wanted === 'read-write' && row.readOnly === 'on'))
      throw new Error(`${nameOf(server)} takes no writes`)
  }

const END_AGAIN_MS = 10_000
/**
 * Without a time limit, in seconds, the driver's `end` may never resolve after a lost connection. If a statement has not
 * settled, the driver may connect once more after its end.
 */
export const endPool = async (sql: Sql, timeoutS: number): Promise<void> => {
  await sql.end({ timeout: timeoutS }).catch(() => {})
  setTimeout(() => void (sql as Pool).close().catch(() => {}), END_AGAIN_MS).unref()
}
