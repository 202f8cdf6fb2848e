import postgres from 'postgres'
import { camelCase } from '../stores/columns.ts'

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

/** How the statements of a connection are planned. */
export type Session = { readonly plan_cache_mode: string; readonly jit: string }

export type PoolCounts = { readonly inFlight: number; readonly waiting: number }
export type PostgresSettings = {
  readonly url: string
  readonly connectionsMax: number
  readonly statementMsMax: number
  readonly lockMsMax: number
  readonly waitingMax: number
  readonly waitMsMax: number
  /** Set if `url` is a PgBouncer in transaction mode; with the address of PostgreSQL, if that is known. */
  readonly pooler?: { readonly directUrl: string | null }
  /** How statements are planned: `ONE_PLAN` by default. */
  readonly session?: Session
  /** Whether every tenant uses events, with webhook endpoints or without. */
  readonly everyEvent?: boolean
  /** Sees every statement with its parameters before it is sent. For tests. */
  readonly onStatement?: (text: string, parameters: readonly unknown[]) => void
  /** For the metrics. */
  readonly observer?: {
    /** Gets a function that counts the statements in flight, and those that wait for a connection. */
    readonly pool: (counts: () => PoolCounts) => void
    readonly statement: (ms: number, outcome: 'answered' | 'failed') => void
  }
}

type Options = postgres.Options<Record<string, never>> & {
  /** The driver has this option; its types do not. */
  readonly onnotify?: (channel: string, payload: string) => void
}

/** Opens a connection pool with the settings of all connections: times in UTC, columns in camelCase. */
export const openPostgres = (url: string, options: Options): Pool => {
  const { address, server } = parseAddress(url)
  return postgres(address, {
    connect_timeout: 3,
    // The default pauses of the driver grow to 20 seconds.
    backoff: (retries: number) => Math.min(0.05 * retries, 0.5),
    // By default the driver prints notices to stdout.
    onnotice: () => {},
    // Saves a query at each connect: `textArray` writes arrays.
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
 * Behind a pooler each statement may reach another connection, so none can rely on a prepared statement. The pooler
 * refuses session settings; the role has them instead.
 */
export const openConnection = (settings: PostgresSettings): Pool => {
  const { url, statementMsMax, lockMsMax, pooler, session = ONE_PLAN, onStatement } = settings
  const limits = { statement_timeout: statementMsMax, lock_timeout: lockMsMax }
  return openPostgres(url, {
    max: 1,
    max_lifetime: null,
    ...(pooler && { prepare: false }),
    ...(!pooler && { connection: { ...limits, ...session } }),
    ...(onStatement && { debug: (_connection, text, parameters) => onStatement(text, parameters) }),
  })
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
    parameters.filter(isServer).map((parameter) => parameter.split('=').map(decodeURIComponent)),
  )
  return { address: others === '' ? address : `${address}?${others}`, server }
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

/** `2026-01-31 09:05:00.12+00`: sessions are in UTC, and PostgreSQL omits trailing zeros. */
export const isoFromPostgres = (text: string): string => {
  if (text[4] !== '-') throw new Error('PostgreSQL must write times by the DateStyle ISO.')
  const zone = text.length - 3
  if (!text.endsWith('+00') || zone < 19 || zone > 23) return new Date(text).toISOString()
  const fraction = zone === 19 ? '.' : text.slice(19, zone)
  return `${text.slice(0, 10)}T${text.slice(11, 19)}${fraction.padEnd(4, '0')}Z`
}
