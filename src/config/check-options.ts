import { isNetwork } from './settings.ts'

type Rule = { readonly fits: (value: unknown) => boolean; readonly must: string }

const isString = (value: unknown) => typeof value === 'string'
const isUrl = (value: unknown) => /^https?:\/\/./.test(String(value))
const isListOf = (fits: (item: string) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.every((item) => isString(item) && fits(item))

/** A time or a count, or null. */
const whole = (min: number, max: number): Rule => ({
  fits: (value) => {
    const isInRange = Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max
    return value === null || isInRange
  },
  must: `must be a whole number from ${min} to ${max}`,
})
/** A longer timer would end at once. */
const TIMER_MS_MAX = 2 ** 31 - 1
const LIMIT = whole(1, 1e11)
const FUNCTION: Rule = { fits: (value) => typeof value === 'function', must: 'must be a function' }
const STRING: Rule = { fits: isString, must: 'must be a string' }
const HTTP_URL: Rule = { fits: isUrl, must: 'must be an http: or https: URL' }
const SECRETS_KEY: Rule = {
  fits: (value) => value === null || Object(value).byteLength === 32,
  must: 'must be a Buffer of 32 bytes',
}

/** The rule of each option that has one. */
const RULES = new Map<string, Rule>(
  Object.entries({
    store: {
      fits: (value) => Object(value).versions !== undefined,
      must: 'is required, such as memoryStore()',
    },
    api: { ...FUNCTION, must: 'must be what createApi returns' },
    sql: { ...FUNCTION, must: 'must be an instance of postgres.js' },
    clock: FUNCTION,
    newId: FUNCTION,
    addressOf: FUNCTION,
    authenticate: FUNCTION,
    namer: {
      fits: (value) => value === null || FUNCTION.fits(value),
      must: 'must be a function, or null',
    },
    onAnswered: FUNCTION,
    onEndpoint: FUNCTION,
    onError: FUNCTION,
    onFailedAttempt: FUNCTION,
    onPause: FUNCTION,
    onStep: FUNCTION,
    path: STRING,
    basePath: STRING,
    model: STRING,
    url: HTTP_URL,
    publicUrl: HTTP_URL,
    background: { fits: (value) => value === 'elsewhere', must: 'must be elsewhere' },
    secretsKey: SECRETS_KEY,
    secretsKeyPrevious: SECRETS_KEY,
    allowedHosts: { fits: isListOf(() => true), must: 'must be an array of host names' },
    allowedNetworks: { fits: isListOf(isNetwork), must: 'must be an array of networks' },
    prospectsRememberedMax: whole(0, 1e7),
    eventDaysKept: whole(1, 3_650),
    retentionDays: whole(0, 36_500),
    namerPatienceMs: whole(0, TIMER_MS_MAX),
    busyMsMax: whole(0, TIMER_MS_MAX),
    pollMs: whole(1, TIMER_MS_MAX),
    rateLimitPerMinute: LIMIT,
    failedAuthPerMinute: LIMIT,
    hookFormsPerMinute: LIMIT,
    uploadBytesMax: LIMIT,
    requestsAtOnceMax: LIMIT,
    requestsWaitingMax: LIMIT,
    bodyBytesHeldMax: LIMIT,
    bodyBytesMax: LIMIT,
    batchBytesMax: LIMIT,
    unsentBytesMax: LIMIT,
    namerCallsMax: LIMIT,
  } satisfies Record<string, Rule>),
)

const wordsIn = (text: string): readonly string[] => text.trim().split(/\s+/)
const SERVICE = wordsIn(
  'store clock newId webhooks publicUrl background requireIdentity prospectsRememberedMax counts',
)
const API = [
  ...SERVICE,
  ...wordsIn(`rateLimitPerMinute failedAuthPerMinute hookFormsPerMinute uploadBytesMax requestsAtOnceMax requestsWaitingMax
    bodyBytesHeldMax docs console authenticate onAnswered onError`),
]
const PUBLISHER = wordsIn(
  'store clock newId namer namerPatienceMs namerCallsMax pollMs onFailedAttempt onError onStep',
)
const ERASER = wordsIn('store clock newId retentionDays eventDaysKept onPause onError onStep')
const WEBHOOKS = wordsIn('store clock newId webhooks pollMs onEndpoint onError onStep')
/** The options of each function. */
export const OPTIONS = {
  createService: SERVICE,
  createApi: API,
  createFetchHandler: [...API, 'basePath', 'bodyBytesMax', 'batchBytesMax', 'addressOf'],
  createHandler: ['api', 'basePath', 'bodyBytesMax', 'batchBytesMax', 'unsentBytesMax'],
  startBackground: [...PUBLISHER, ...ERASER, ...WEBHOOKS, 'counts'],
  createPublisher: PUBLISHER,
  createEraser: ERASER,
  createWebhooks: WEBHOOKS,
  webhooks: ['secretsKey', 'secretsKeyPrevious', 'allowedHosts', 'allowedNetworks', 'answers'],
  memoryStore: ['everyEvent'],
  sqliteStore: ['path', 'busyMsMax', 'everyEvent'],
  postgresStore: ['sql', 'everyEvent'],
  chatCompletionsNamer: ['url', 'model', 'apiKey', 'extraBody'],
} satisfies Record<string, readonly string[]>
type Owner = keyof typeof OPTIONS
const OWNERS = Object.keys(OPTIONS) as Owner[]
const hasOption = (owner: Owner, name: string): boolean => OPTIONS[owner].includes(name)
/** Options that are required by each function that has them. */
const REQUIRED = new Set(['store', 'api', 'sql', 'path', 'url', 'model'])

/** Throws if an option is unknown, is required and missing, or has an unusable value. */
export const checkOptions = <Options extends object>(owner: Owner, options: Options): Options => {
  const values = new Map<string, unknown>(Object.entries(typeof options === 'object' ? (options ?? {}) : {}))
  const required = OPTIONS[owner].filter((name) => REQUIRED.has(name))
  for (const name of [...values.keys(), ...required]) {
    if (!hasOption(owner, name)) {
      const other = OWNERS.find((other) => hasOption(other, name))
      throw new TypeError(`${owner} has no option ${name}${other ? `: it belongs to ${other}` : ''}.`)
    }
    const value = values.get(name)
    const rule = RULES.get(name)
    const isChecked = value !== undefined || REQUIRED.has(name)
    if (rule && isChecked && !rule.fits(value)) throw new TypeError(`${name} ${rule.must}.`)
  }
  return options
}
