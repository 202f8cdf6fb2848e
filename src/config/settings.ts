import { isIP } from 'node:net'
import { orNull } from '../core/engine/or-null.ts'
import { database, type Environment, postgresUrl } from './database-address.ts'
import { durationMs } from './duration.ts'

const textThat = (fits: (text: string) => boolean, must: string) => (text: string) => {
  if (!fits(text)) throw new Error(must)
  return text
}
const oneOf = (allowed: readonly string[]) =>
  textThat((text) => allowed.includes(text), `must be one of ${allowed.join(', ')}`)
const flag = (text: string): boolean => oneOf(['true', 'false'])(text) === 'true'
const onOrOff = (text: string): boolean => oneOf(['on', 'off'])(text) === 'on'
const whole =
  (min: number, max: number, others = '') =>
  (text: string) => {
    if (!/^\d{1,12}$/.test(text) || Number(text) < min || Number(text) > max)
      throw new Error(`must be a whole number from ${min} to ${max}${others}`)
    return Number(text)
  }
/** Null if the text is `absent`. */
const nullable =
  <Value>(parse: (text: string, environment?: Environment) => Value, absent = '') =>
  (text: string, environment?: Environment) =>
    text === absent ? null : parse(text, environment)
/** Only what a header can carry: anything else would be quoted in an error when it is sent. */
const headerValue = textThat((text) => /^[!-~]*$/.test(text), 'must be visible ASCII characters')
/** The parser's own message would quote the text. */
const jsonObject = (text: string): Readonly<Record<string, unknown>> => {
  const value = orNull(() => JSON.parse(text))
  if (value === null || !/^\s*\{/.test(text)) throw new Error('must be a JSON object')
  return value
}
/** The message does not quote the key. */
const key = (text: string): Buffer => {
  if (!/^[\w+/-]{43}=?$/.test(text)) throw new Error('must be 32 bytes in base64')
  return Buffer.from(text, 'base64')
}
const listOf =
  (fits: (item: string) => boolean, must: string) =>
  (text: string): readonly string[] => {
    const items = text === '' ? [] : text.split(',').map((item) => item.trim())
    if (!items.every(fits)) throw new Error(must)
    return items
  }
/** `[::1]` as in a URL is `::1`; what begins with `/` is a unix socket. */
const listenHost = (text: string): string => {
  const [, bracketed] = /^\[(.*)\]$/.exec(text) ?? []
  if (bracketed === undefined ? !/^[^\s[\]]+$/.test(text) : isIP(bracketed) !== 6)
    throw new Error('must be an address, a host name or the path of a unix socket')
  return bracketed ?? text
}
const isHost = (text: string): boolean => /^[\w.-]+$/.test(text) || isIP(text) === 6
export const isNetwork = (text: string): boolean => {
  const [, address = '', prefix] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
  return isIP(address) > 0 && Number(prefix) <= (isIP(address) === 4 ? 32 : 128)
}
const httpUrl = textThat(
  (text) => /^https?:\/\/[^\s/@]+(\/[^\s@]*)?$/.test(text) && URL.canParse(text),
  'must be an http or https URL without a user name or password',
)

/** Removes trailing slashes. */
const publicUrl = (text: string): string => {
  if (/[?#]/.test(text)) throw new Error('must have no query and no fragment')
  return httpUrl(text).replace(/\/+$/, '')
}

const duration = (text: string): number => {
  const ms = durationMs(text)
  if (!ms) throw new Error('must be a duration such as 24h, 90m or 7d')
  return ms
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']
const bodyBytes = whole(1_024, 67_108_864)
/** An empty text stands for the default, so no limit takes a word. */
const wholeOrNone = (max: number) => nullable(whole(1, max, ', or none'), 'none')

/** Every setting: default, parser (throws the requirement), help line. `Config` derives from this. */
export const SETTINGS = {
  HOST: ['127.0.0.1', listenHost, 'address to listen on, or the path of a unix socket'],
  PORT: ['8080', whole(0, 65_535), 'port to listen on; 0: any free port'],
  PUBLIC_URL: [
    '',
    nullable(publicUrl),
    'where vendors reach this service, such as https://example.com; empty: hooks have a path, but no url',
  ],
  DATABASE_URL: [
    'sqlite:data/prospect-pages.db',
    database,
    'postgres://… (14 or newer), sqlite:PATH (embedded) or memory: (keeps nothing)',
  ],
  DATABASE_POOLER: ['false', flag, 'DATABASE_URL is a PgBouncer in transaction mode: true, false'],
  DATABASE_DIRECT_URL: [
    '',
    nullable(postgresUrl),
    'the PostgreSQL behind that pooler, for LISTEN and migrations; empty: signals are polled for',
  ],
  DATABASE_CLUSTER: [
    '',
    nullable((text) => oneOf(['citus'])(text) as 'citus'),
    'citus: DATABASE_URL is any node of a cluster, whose tables prospect-pages migrate distributes; empty: a single PostgreSQL',
  ],
  BACKUP_DIR: ['', nullable(String), 'folder for scheduled backups of the embedded database; empty: none'],
  BACKUP_EVERY: ['24h', duration, 'how often a server makes one, such as 90m, 24h or 7d'],
  BACKUPS_KEPT: ['7', whole(1, 10_000), 'how many of them are kept'],
  BACKUP_COMMAND: [
    '',
    nullable(String),
    'program that is run with each new one as its only argument, without a shell',
  ],
  BACKUP_BEFORE_MIGRATION: ['on', onOrOff, 'back the embedded database up before it is migrated: on, off'],
  LOG_LEVEL: ['info', oneOf(LOG_LEVELS), LOG_LEVELS.join(', ')],
  LOG_LEVELS: [
    'numbers',
    (text: string) => oneOf(['numbers', 'names'])(text) as 'numbers' | 'names',
    'how log lines show their level: numbers (30) or names (info)',
  ],
  METRICS: ['on', onOrOff, 'Prometheus metrics at /metrics, without an API key: on, off'],
  NAMER_URL: ['', nullable(httpUrl), 'base URL of a chat-completions server; empty: the built-in namer'],
  NAMER_MODEL: ['', nullable(String), 'model to request from that server'],
  NAMER_API_KEY: ['', nullable(headerValue), 'API key for that server'],
  NAMER_EXTRA_BODY: ['', nullable(jsonObject), 'JSON object merged into each request to that server'],
  NAMER_PATIENCE_MS: ['10000', whole(1, 600_000), 'how long naming may delay a version, retries included'],
  NAMER_CALLS_MAX: ['4', whole(1, 1_000), 'naming calls in flight'],
  PROSPECTS_REMEMBERED_MAX: ['50000', whole(0, 10_000_000), 'prospects kept in memory; 0: none'],
  REQUIRE_IDENTITY: ['false', flag, 'refuse activities that identify no prospect: true, false'],
  RETENTION_DAYS: [
    'none',
    wholeOrNone(36_500),
    'days that activities are kept, unless their tenant has its own; none: forever',
  ],
  COUNTS: ['on', onOrOff, 'counts of activities for tenants that read them: on, off'],
  EVENTS: [
    'subscribed',
    oneOf(['subscribed', 'on']),
    'which tenants have events: subscribed (those with an enabled webhook endpoint), on (all)',
  ],
  EVENT_DAYS_KEPT: ['30', whole(1, 3_650), 'days that events and their deliveries are kept'],
  SECRETS_KEY: ['', nullable(key), '32 bytes in base64 that encrypt webhook secrets; empty: not encrypted'],
  SECRETS_KEY_PREVIOUS: [
    '',
    nullable(key),
    'the key before it, until prospect-pages secrets reencrypt has run',
  ],
  WEBHOOKS_ALLOWED_HOSTS: [
    '',
    listOf(isHost, 'must be host names or addresses without a port, separated by commas'),
    'host names that webhooks may be sent to although they are not public, separated by commas',
  ],
  WEBHOOKS_ALLOWED_NETWORKS: [
    '',
    listOf(isNetwork, 'must be networks such as 10.0.0.0/8, separated by commas'),
    'networks that webhooks may be sent to although they are not public, such as 10.0.0.0/8, separated by commas',
  ],
  WEBHOOK_ANSWERS: ['on', onOrOff, 'keep the first 1 KiB that public receivers of webhooks answer: on, off'],
  RATE_LIMIT_PER_MINUTE: [
    'none',
    wholeOrNone(1e9),
    'requests per API key and minute, counted per worker; none: no limit',
  ],
  FAILED_AUTH_PER_MINUTE: [
    '60',
    wholeOrNone(1e9),
    'failed authentications per address and minute, counted per worker; none: no limit',
  ],
  HOOK_FORMS_PER_MINUTE: [
    '60',
    wholeOrNone(1e9),
    'deliveries per address and minute to a hook for browsers, counted per worker; none: no limit',
  ],
  BODY_BYTES_MAX: ['1048576', bodyBytes, 'largest request body'],
  BATCH_BYTES_MAX: ['8388608', bodyBytes, 'largest body of a batch; BODY_BYTES_MAX limits each item'],
  UPLOAD_BYTES_MAX: [
    '26214400',
    whole(1_024, 1e11),
    'largest form with files to a hook with a token; the files are not kept',
  ],
  BODY_BYTES_HELD_MAX: ['67108864', whole(2_048, 1e11), 'body bytes in flight of all tenants; beyond it 503'],
  HEADERS_MS_MAX: ['10000', whole(100, 600_000), 'time limit for the headers of a request to arrive'],
  REQUEST_MS_MAX: ['30000', whole(100, 600_000), 'time limit for a whole request to arrive'],
  KEEP_ALIVE_MS: ['65000', whole(1, 86_400_000), 'idle timeout of connections; must exceed that of a proxy'],
  DRAIN_MS_MAX: ['10000', whole(0, 600_000), 'time limit for requests in flight after SIGTERM'],
  CONNECTIONS_MAX: ['10000', whole(1, 1_000_000), 'open connections'],
  UNSENT_BYTES_MAX: [
    '67108864',
    whole(1_048_576, 1e11),
    'response bytes that callers have not read yet; beyond it the slowest are disconnected',
  ],
  REQUESTS_AT_ONCE_MAX: [
    '256',
    whole(1, 1e6),
    'requests in progress at a time, over all tenants; others wait',
  ],
  REQUESTS_WAITING_MAX: ['2000', whole(1, 1e6), 'requests that wait, of all tenants; beyond it 503'],
  DATABASE_CONNECTIONS_MAX: [
    '10',
    whole(1, 1_000),
    'connections of each worker to PostgreSQL, or to each node of Citus',
  ],
  STATEMENT_MS_MAX: ['5000', whole(100, 600_000), 'time limit of one statement'],
  PUBLISHER_POLL_MS: ['1000', whole(10, 600_000), 'how often the publisher polls for new versions'],
  DOCS: ['on', onOrOff, 'the API reference at /docs: on, off'],
  CONSOLE: ['on', onOrOff, 'the console at /console/, a page for people: on, off'],
  MCP: [
    '',
    nullable((text: string) => oneOf(['read'])(text) as 'read'),
    'read: tools for assistants at /mcp, which read with the API key of the request; empty: none',
  ],
} as const

/** Settings that may be in a file instead, which `NAME_FILE` names: secrets of Docker, Kubernetes and systemd. */
export const SECRETS: ReadonlySet<string> = new Set([
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'NAMER_API_KEY',
  'SECRETS_KEY',
  'SECRETS_KEY_PREVIOUS',
])

/** The names, defaults and help lines of all settings, for `--help`. */
export const settingsHelp = (): readonly { name: string; default: string; help: string }[] =>
  Object.entries(SETTINGS).map(([name, [fallback, , help]]) => ({ name, default: fallback, help }))
