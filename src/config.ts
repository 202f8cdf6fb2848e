import { type Fault, refuse } from './core/failures.ts'
import {
  type DatabaseAddress,
  database,
  flag,
  httpUrl,
  noneOr,
  oneOf,
  optional,
  postgresUrl,
  secret,
  text,
  whole,
  wholeOrNone,
} from './setting-values.ts'

/** The settings, from the environment: every one with its default, its check and the line that `--help` shows. */
export type Config = {
  readonly host: string
  readonly port: number
  readonly workers: number
  readonly database: DatabaseAddress
  readonly databasePooler: boolean
  readonly databaseDirectUrl: string | null
  readonly logLevel: string
  readonly namer: { readonly url: string; readonly model: string; readonly apiKey: string | undefined } | null
  readonly namerMsMax: number
  readonly namerCallsMax: number
  readonly requireIdentity: boolean
  readonly rateLimitPerMinute: number | null
  readonly wrongKeysPerMinute: number | null
  readonly bodyBytesMax: number
  readonly bodyBytesHeldMax: number
  readonly headersMsMax: number
  readonly requestMsMax: number
  readonly keepAliveMs: number
  readonly drainMsMax: number
  readonly connectionsMax: number
  readonly unsentBytesMax: number
  readonly requestsInFlightMax: number
  readonly queuedCallsMax: number
  readonly databaseConnectionsMax: number
  readonly statementMsMax: number
  readonly publisherPollMs: number
}

type Setting<Value> = {
  readonly default: string
  readonly help: string
  /** Answers the value, or throws what is wrong with the text. */
  readonly read: (text: string) => Value
}
const setting = <Value>(fallback: string, help: string, read: (text: string) => Value): Setting<Value> => ({
  default: fallback,
  help,
  read,
})

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

const DAY_MS = 86_400_000
const SETTINGS = {
  HOST: setting('127.0.0.1', 'address to listen on', text),
  PORT: setting('8080', 'port to listen on; 0 picks a free one', whole(0, 65_535)),
  WORKERS: setting(
    '1',
    'processes that serve that port together; more than 1 on PostgreSQL alone',
    whole(1, 64),
  ),
  DATABASE_URL: setting(
    'sqlite:data/prospect-pages.db',
    'postgres://… (14 or newer), sqlite:PATH (the embedded database) or memory: (nothing kept)',
    database,
  ),
  DATABASE_POOLER: setting('false', 'DATABASE_URL is a PgBouncer in transaction mode', flag),
  DATABASE_DIRECT_URL: setting(
    '',
    'PostgreSQL itself behind that pooler, to listen and to migrate; without it signals are polled for',
    postgresUrl,
  ),
  LOG_LEVEL: setting('info', LOG_LEVELS.join(', '), oneOf(LOG_LEVELS)),
  NAMER_URL: setting('', 'base address of a chat-completions server; without it the built-in namer', httpUrl),
  NAMER_MODEL: setting('', 'model to ask there', optional),
  NAMER_API_KEY: setting('', 'key to send there', secret),
  NAMER_MS_MAX: setting('10000', 'time limit of one call to the namer', whole(1, 600_000)),
  NAMER_CALLS_MAX: setting('4', 'calls to the namer at a time', whole(1, 1_000)),
  REQUIRE_IDENTITY: setting('false', 'refuse an activity with neither prospectId nor email', flag),
  RATE_LIMIT_PER_MINUTE: setting(
    '',
    'requests of one key in a minute, counted by each worker; empty: no limit',
    wholeOrNone(1, 1e9),
  ),
  WRONG_KEYS_PER_MINUTE: setting(
    '60',
    'wrong keys of one address in a minute, counted by each worker; past it 429; none: no limit',
    noneOr(whole(1, 1e9)),
  ),
  BODY_BYTES_MAX: setting('1048576', 'largest body of a request', whole(1_024, 67_108_864)),
  BODY_BYTES_HELD_MAX: setting(
    '67108864',
    'bytes of bodies that wait for their answer; a tenant may hold as many as are left; past it 503',
    whole(2_048, 1e11),
  ),
  HEADERS_MS_MAX: setting('10000', 'time limit for the headers of a request', whole(100, 600_000)),
  REQUEST_MS_MAX: setting('30000', 'time limit for a whole request to arrive', whole(100, 600_000)),
  KEEP_ALIVE_MS: setting(
    '65000',
    'how long an idle connection is kept; more than a balancer in front keeps its own',
    whole(1, DAY_MS),
  ),
  DRAIN_MS_MAX: setting('10000', 'how long requests under way may take after SIGTERM', whole(0, 600_000)),
  CONNECTIONS_MAX: setting('10000', 'connections at a time', whole(1, 1_000_000)),
  UNSENT_BYTES_MAX: setting(
    '67108864',
    'bytes of answers that callers have not taken; past it the slowest are disconnected',
    whole(1_048_576, 1e11),
  ),
  REQUESTS_IN_FLIGHT_MAX: setting(
    '2000',
    'requests under way; a tenant may have as many as are left; past it 503',
    whole(1, 1_000_000),
  ),
  QUEUED_CALLS_MAX: setting(
    '2000',
    'calls of one operation that wait for a list; past it 503',
    whole(1, 1_000_000),
  ),
  DATABASE_CONNECTIONS_MAX: setting('10', 'connections of each worker to PostgreSQL', whole(1, 1_000)),
  STATEMENT_MS_MAX: setting('5000', 'time limit of one statement', whole(100, 600_000)),
  PUBLISHER_POLL_MS: setting('1000', 'how often the publisher looks by itself', whole(10, 600_000)),
} as const

type Name = keyof typeof SETTINGS
type Values = { readonly [N in Name]: ReturnType<(typeof SETTINGS)[N]['read']> }

/** The names and help lines of all settings, for `--help`. */
export const settingsHelp = (): readonly { name: string; default: string; help: string }[] =>
  Object.entries(SETTINGS).map(([name, { default: fallback, help }]) => ({ name, default: fallback, help }))

/** Settings that are right each by itself, and not together. One that could not be read is undefined here. */
const contradictionsIn = (values: Values): Fault[] => {
  const faults: Fault[] = []
  const refuseIf = (isWrong: boolean, parameter: Name, detail: string) => {
    if (isWrong) faults.push({ parameter, detail })
  }
  const isOther = values.DATABASE_URL !== undefined && values.DATABASE_URL.kind !== 'postgres'
  const needsPostgres = 'only where DATABASE_URL is PostgreSQL'
  refuseIf(values.WORKERS > 1 && isOther, 'WORKERS', `can be more than 1 ${needsPostgres}`)
  refuseIf(
    values.BODY_BYTES_HELD_MAX < 2 * values.BODY_BYTES_MAX,
    'BODY_BYTES_HELD_MAX',
    'must be at least twice BODY_BYTES_MAX',
  )
  refuseIf(values.DATABASE_POOLER && isOther, 'DATABASE_POOLER', `can be true ${needsPostgres}`)
  const isPointless = values.DATABASE_POOLER === false && Boolean(values.DATABASE_DIRECT_URL)
  refuseIf(isPointless, 'DATABASE_DIRECT_URL', 'can be set only where DATABASE_POOLER is true')
  const lacksModel = values.NAMER_URL !== undefined && values.NAMER_MODEL === undefined
  refuseIf(lacksModel, 'NAMER_MODEL', 'must be set where NAMER_URL is')
  return faults
}

/** The checked settings, or every fault at once. An empty variable counts as not set. */
export const readConfig = (environment: Readonly<Record<string, string | undefined>>): Config => {
  const errors: Fault[] = []
  const read = (name: Name): unknown => {
    try {
      return SETTINGS[name].read(environment[name] || SETTINGS[name].default)
    } catch (error) {
      errors.push({ parameter: name, detail: (error as Error).message })
      return undefined
    }
  }
  const names = Object.keys(SETTINGS) as Name[]
  const values = Object.fromEntries(names.map((name) => [name, read(name)])) as Values
  errors.push(...contradictionsIn(values))
  if (errors.length > 0) refuse('invalid_request', 'The settings are not right.', { errors })
  return {
    host: values.HOST,
    port: values.PORT,
    workers: values.WORKERS,
    database: values.DATABASE_URL,
    databasePooler: values.DATABASE_POOLER,
    databaseDirectUrl: values.DATABASE_DIRECT_URL,
    logLevel: values.LOG_LEVEL,
    namer:
      values.NAMER_URL === undefined || values.NAMER_MODEL === undefined
        ? null
        : { url: values.NAMER_URL, model: values.NAMER_MODEL, apiKey: values.NAMER_API_KEY },
    namerMsMax: values.NAMER_MS_MAX,
    namerCallsMax: values.NAMER_CALLS_MAX,
    requireIdentity: values.REQUIRE_IDENTITY,
    rateLimitPerMinute: values.RATE_LIMIT_PER_MINUTE,
    wrongKeysPerMinute: values.WRONG_KEYS_PER_MINUTE,
    bodyBytesMax: values.BODY_BYTES_MAX,
    bodyBytesHeldMax: values.BODY_BYTES_HELD_MAX,
    headersMsMax: values.HEADERS_MS_MAX,
    requestMsMax: values.REQUEST_MS_MAX,
    keepAliveMs: values.KEEP_ALIVE_MS,
    drainMsMax: values.DRAIN_MS_MAX,
    connectionsMax: values.CONNECTIONS_MAX,
    unsentBytesMax: values.UNSENT_BYTES_MAX,
    requestsInFlightMax: values.REQUESTS_IN_FLIGHT_MAX,
    queuedCallsMax: values.QUEUED_CALLS_MAX,
    databaseConnectionsMax: values.DATABASE_CONNECTIONS_MAX,
    statementMsMax: values.STATEMENT_MS_MAX,
    publisherPollMs: values.PUBLISHER_POLL_MS,
  }
}
