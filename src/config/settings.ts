type Setting<Value> = {
  readonly default: string
  readonly help: string
  /** Answers the value, or throws an error that says what the text must be. */
  readonly parse: (text: string) => Value
}
const setting = <Value>(fallback: string, help: string, parse: (text: string) => Value): Setting<Value> => ({
  default: fallback,
  help,
  parse,
})

const text = (given: string): string => given
const oneOf = (allowed: readonly string[]) => (given: string) => {
  if (!allowed.includes(given)) throw new Error(`must be one of ${allowed.join(', ')}`)
  return given
}
const flag = (given: string): boolean => oneOf(['true', 'false'])(given) === 'true'
const onOrOff = (given: string): boolean => oneOf(['on', 'off'])(given) === 'on'
const whole = (min: number, max: number) => (given: string) => {
  if (!/^\d{1,12}$/.test(given) || Number(given) < min || Number(given) > max)
    throw new Error(`must be a whole number from ${min} to ${max}`)
  return Number(given)
}
/** Null where the text is `absent`. */
const nullable =
  <Value>(parse: (given: string) => Value, absent = '') =>
  (given: string) =>
    given === absent ? null : parse(given)
/** Only what a header can carry: anything else would be quoted in an error when it is sent. */
const headerValue = (given: string): string => {
  if (!/^[!-~]*$/.test(given)) throw new Error('must be visible ASCII characters')
  return given
}
const httpUrl = (given: string): string => {
  if (!/^https?:\/\/[^\s/@]+(\/[^\s@]*)?$/.test(given) || !URL.canParse(given))
    throw new Error('must be an http or https URL without a user name or password')
  return given
}

export type DatabaseAddress =
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'memory' }

export const database = (given: string): DatabaseAddress => {
  if (given === 'memory:') return { kind: 'memory' }
  if (given.startsWith('sqlite:') && given.length > 'sqlite:'.length)
    return { kind: 'sqlite', path: given.slice('sqlite:'.length) }
  // `URL` knows one host only, so the others of a list are left out.
  if (POSTGRES_URL.test(given) && canDecode(given) && URL.canParse(given.replace(/,[^/?]*/, '')))
    return { kind: 'postgres', url: given }
  const isPostgres = /^postgres(ql)?:\/\/.*[@#%]/.test(given)
  throw new Error(`must be postgres://…, sqlite:PATH or memory:${isPostgres ? `; ${ESCAPES}` : ''}`)
}
/**
 * Rejects unescaped delimiters in the password: part of it would be parsed as the host and end up in an error message.
 */
const POSTGRES_URL = /^postgres(ql)?:\/\/(?=.)([^@/?#]*@)?[^@/?#]*(\/[^@?#]*)?(\?[^@#]*)?$/
const ESCAPES = 'in a user name or password write @ as %40, / as %2F, ? as %3F, # as %23 and % as %25'
const canDecode = (given: string): boolean => {
  try {
    return decodeURIComponent(given) !== ''
  } catch {
    return false
  }
}
const postgresUrl = (given: string): string => {
  const address = /^postgres/.test(given) ? database(given) : undefined
  if (address?.kind !== 'postgres') throw new Error('must be postgres://…')
  return address.url
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']
const DAY_MS = 86_400_000

/** Every setting: its variable, default, line of `--help` and values. `Config` derives from this table. */
export const SETTINGS = {
  HOST: setting('127.0.0.1', 'address to listen on', text),
  PORT: setting('8080', 'port to listen on; 0: any free port', whole(0, 65_535)),
  WORKERS: setting(
    '1',
    'server processes that share the port; more than 1 requires PostgreSQL',
    whole(1, 64),
  ),
  DATABASE_URL: setting(
    'sqlite:data/prospect-pages.db',
    'postgres://… (14 or newer), sqlite:PATH (embedded) or memory: (keeps nothing)',
    database,
  ),
  DATABASE_POOLER: setting('false', 'DATABASE_URL is a PgBouncer in transaction mode: true, false', flag),
  DATABASE_DIRECT_URL: setting(
    '',
    'the PostgreSQL behind that pooler, for LISTEN and migrations; empty: signals are polled for',
    nullable(postgresUrl),
  ),
  LOG_LEVEL: setting('info', LOG_LEVELS.join(', '), oneOf(LOG_LEVELS)),
  METRICS: setting('on', 'Prometheus metrics at /metrics, without an API key: on, off', onOrOff),
  NAMER_URL: setting(
    '',
    'base URL of a chat-completions server; empty: the built-in namer',
    nullable(httpUrl),
  ),
  NAMER_MODEL: setting('', 'model to request from that server', nullable(text)),
  NAMER_API_KEY: setting('', 'API key for that server', nullable(headerValue)),
  NAMER_MS_MAX: setting('10000', 'time limit of one naming call', whole(1, 600_000)),
  NAMER_CALLS_MAX: setting('4', 'naming calls in flight', whole(1, 1_000)),
  REQUIRE_IDENTITY: setting(
    'false',
    'refuse activities with neither prospectId nor email: true, false',
    flag,
  ),
  RATE_LIMIT_PER_MINUTE: setting(
    '',
    'requests per API key and minute, counted per worker; empty: no limit',
    nullable(whole(1, 1e9)),
  ),
  // An empty text stands for the default, so no limit takes a word.
  FAILED_AUTH_PER_MINUTE: setting(
    '60',
    'failed authentications per address and minute, counted per worker; none: no limit',
    nullable(whole(1, 1e9), 'none'),
  ),
  BODY_BYTES_MAX: setting('1048576', 'largest request body', whole(1_024, 67_108_864)),
  BODY_BYTES_HELD_MAX: setting(
    '67108864',
    'request-body bytes in flight, shared among the tenants; beyond it 503',
    whole(2_048, 1e11),
  ),
  HEADERS_MS_MAX: setting('10000', 'time limit for the headers of a request to arrive', whole(100, 600_000)),
  REQUEST_MS_MAX: setting('30000', 'time limit for a whole request to arrive', whole(100, 600_000)),
  KEEP_ALIVE_MS: setting(
    '65000',
    'how long an idle connection is kept; must exceed that of a load balancer in front',
    whole(1, DAY_MS),
  ),
  DRAIN_MS_MAX: setting('10000', 'time limit for requests in flight after SIGTERM', whole(0, 600_000)),
  CONNECTIONS_MAX: setting('10000', 'open connections', whole(1, 1_000_000)),
  UNSENT_BYTES_MAX: setting(
    '67108864',
    'response bytes that callers have not read yet; beyond it the slowest are disconnected',
    whole(1_048_576, 1e11),
  ),
  REQUESTS_AT_ONCE_MAX: setting(
    '256',
    'requests worked on at a time, shared among the tenants; the others wait',
    whole(1, 1_000_000),
  ),
  REQUESTS_WAITING_MAX: setting(
    '2000',
    'requests that wait for their turn, shared among the tenants; beyond it 503',
    whole(1, 1_000_000),
  ),
  DATABASE_CONNECTIONS_MAX: setting('10', 'connections of each worker to PostgreSQL', whole(1, 1_000)),
  STATEMENT_MS_MAX: setting('5000', 'time limit of one statement', whole(100, 600_000)),
  PUBLISHER_POLL_MS: setting('1000', 'how often the publisher polls for new versions', whole(10, 600_000)),
  DOCS: setting('on', 'the API reference at /docs: on, off', onOrOff),
} as const

/** The names, defaults and help lines of all settings, for `--help`. */
export const settingsHelp = (): readonly { name: string; default: string; help: string }[] =>
  Object.entries(SETTINGS).map(([name, { default: fallback, help }]) => ({ name, default: fallback, help }))
