import { type Fault, refuse } from './core/failures.ts'
import type { DatabaseAddress } from './setting-values.ts'
import { SETTINGS } from './settings.ts'

/** The settings, from the environment. */
export type Config = {
  readonly host: string
  readonly port: number
  readonly workers: number
  readonly database: DatabaseAddress
  readonly databasePooler: boolean
  readonly databaseDirectUrl: string | null
  readonly logLevel: string
  readonly metrics: boolean
  readonly namer: { readonly url: string; readonly model: string; readonly apiKey: string | undefined } | null
  readonly namerMsMax: number
  readonly namerCallsMax: number
  readonly requireIdentity: boolean
  readonly rateLimitPerMinute: number | null
  readonly failedAuthPerMinute: number | null
  readonly bodyBytesMax: number
  readonly bodyBytesHeldMax: number
  readonly headersMsMax: number
  readonly requestMsMax: number
  readonly keepAliveMs: number
  readonly drainMsMax: number
  readonly connectionsMax: number
  readonly unsentBytesMax: number
  readonly requestsAtOnceMax: number
  readonly requestsWaitingMax: number
  readonly databaseConnectionsMax: number
  readonly statementMsMax: number
  readonly publisherPollMs: number
  readonly docs: boolean
}

type Name = keyof typeof SETTINGS
type Values = { readonly [N in Name]: ReturnType<(typeof SETTINGS)[N]['read']> }

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
    metrics: values.METRICS,
    namer:
      values.NAMER_URL === undefined || values.NAMER_MODEL === undefined
        ? null
        : { url: values.NAMER_URL, model: values.NAMER_MODEL, apiKey: values.NAMER_API_KEY },
    namerMsMax: values.NAMER_MS_MAX,
    namerCallsMax: values.NAMER_CALLS_MAX,
    requireIdentity: values.REQUIRE_IDENTITY,
    rateLimitPerMinute: values.RATE_LIMIT_PER_MINUTE,
    failedAuthPerMinute: values.FAILED_AUTH_PER_MINUTE,
    bodyBytesMax: values.BODY_BYTES_MAX,
    bodyBytesHeldMax: values.BODY_BYTES_HELD_MAX,
    headersMsMax: values.HEADERS_MS_MAX,
    requestMsMax: values.REQUEST_MS_MAX,
    keepAliveMs: values.KEEP_ALIVE_MS,
    drainMsMax: values.DRAIN_MS_MAX,
    connectionsMax: values.CONNECTIONS_MAX,
    unsentBytesMax: values.UNSENT_BYTES_MAX,
    requestsAtOnceMax: values.REQUESTS_AT_ONCE_MAX,
    requestsWaitingMax: values.REQUESTS_WAITING_MAX,
    databaseConnectionsMax: values.DATABASE_CONNECTIONS_MAX,
    statementMsMax: values.STATEMENT_MS_MAX,
    publisherPollMs: values.PUBLISHER_POLL_MS,
    docs: values.DOCS === 'on',
  }
}
