import {
  database,
  flag,
  httpUrl,
  noneOr,
  oneOf,
  onOrOff,
  optional,
  postgresUrl,
  secret,
  text,
  whole,
  wholeOrNone,
} from './setting-values.ts'

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
/** Every setting with its default, the line that `--help` shows, and how its text is read. */
export const SETTINGS = {
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
  METRICS: setting(
    'on',
    'figures for Prometheus at /metrics, which needs no key; off: no such path',
    onOrOff,
  ),
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
  FAILED_AUTH_PER_MINUTE: setting(
    '60',
    'invalid API keys of one address in a minute, in each worker; past it 429; none: no limit',
    noneOr(whole(1, 1e9)),
  ),
  BODY_BYTES_MAX: setting('1048576', 'largest body of a request', whole(1_024, 67_108_864)),
  BODY_BYTES_HELD_MAX: setting(
    '67108864',
    'bytes of request bodies in flight; past it 503, and the tenant with most of them first',
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
    'bytes of answers that callers have not read; past it the slowest connections are closed',
    whole(1_048_576, 1e11),
  ),
  REQUESTS_AT_ONCE_MAX: setting('256', 'requests worked on at a time', whole(1, 1_000_000)),
  REQUESTS_WAITING_MAX: setting(
    '2000',
    'requests that may wait for their turn; past it 503, and the tenant with most of them first',
    whole(1, 1_000_000),
  ),
  DATABASE_CONNECTIONS_MAX: setting('10', 'connections of each worker to PostgreSQL', whole(1, 1_000)),
  STATEMENT_MS_MAX: setting('5000', 'time limit of one statement', whole(100, 600_000)),
  PUBLISHER_POLL_MS: setting('1000', 'how often the publisher looks by itself', whole(10, 600_000)),
  DOCS: setting('on', 'the API reference at /docs: on, off', oneOf(['on', 'off'])),
} as const

/** The names and help lines of all settings, for `--help`. */
export const settingsHelp = (): readonly { name: string; default: string; help: string }[] =>
  Object.entries(SETTINGS).map(([name, { default: fallback, help }]) => ({ name, default: fallback, help }))
