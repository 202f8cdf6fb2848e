import { isNetwork } from './settings.ts'

type Rule = readonly [names: RegExp, fits: (value: unknown) => boolean, must: string]
/** A time or a count. A longer timer would end at once. */
const whole = (names: RegExp, min: number, max: number): Rule => [
  names,
  (n) => n === null || (Number.isSafeInteger(n) && Number(n) >= min && Number(n) <= max),
  `must be a whole number from ${min} to ${max}`,
]
const isFunction = (value: unknown) => typeof value === 'function'
const isString = (value: unknown) => typeof value === 'string'
/** The rule of an option: the first whose names match. */
const RULES: readonly Rule[] = [
  [/^store$/, (value) => Object(value).versions !== undefined, 'is required, such as memoryStore()'],
  [/^api$/, isFunction, 'must be what createApi returns'],
  [/^sql$/, isFunction, 'must be an instance of postgres.js'],
  [/^(on[A-Z]\w*|clock|newId|addressOf|authenticate)$/, isFunction, 'must be a function'],
  [/^namer$/, (value) => value === null || isFunction(value), 'must be a function, or null'],
  [/path$|^model$/i, isString, 'must be a string'],
  [/^(url|publicUrl)$/, (value) => /^https?:\/\/./.test(String(value)), 'must be an http: or https: URL'],
  [/^background$/, (value) => value === 'elsewhere', 'must be elsewhere'],
  [/^secretsKey/, (key) => key === null || Object(key).byteLength === 32, 'must be a Buffer of 32 bytes'],
  [/^allowedHosts$/, (list) => Array.isArray(list) && list.every(isString), 'must be an array of host names'],
  [/^allowedNet/, (list) => Array.isArray(list) && list.every(isNetwork), 'must be an array of networks'],
  whole(/^prospectsRememberedMax$/, 0, 1e7),
  whole(/^eventDaysKept$/, 1, 3_650),
  whole(/^retentionDays$/, 0, 36_500),
  whole(/^(namerPatience|busy)Ms/, 0, 2 ** 31 - 1),
  whole(/Ms(Max)?$/, 1, 2 ** 31 - 1),
  whole(/(Max|PerMinute)$/, 1, 1e11),
]
const SERVICE =
  'store! clock newId webhooks publicUrl background requireIdentity prospectsRememberedMax counts'
const API = `${SERVICE} rateLimitPerMinute failedAuthPerMinute hookFormsPerMinute requestsAtOnceMax requestsWaitingMax
  bodyBytesHeldMax docs console authenticate onAnswered onError`
const PUBLISHER =
  'store! clock newId namer namerPatienceMs namerCallsMax pollMs onFailedAttempt onError onStep'
const ERASER = 'store! clock newId retentionDays eventDaysKept onPause onError onStep'
const WEBHOOKS = 'store! clock newId webhooks pollMs onEndpoint onError onStep'
/** The options of each function; `!` marks the required ones. */
export const OPTIONS = {
  createService: SERVICE,
  createApi: API,
  createFetchHandler: `${API} basePath bodyBytesMax batchBytesMax addressOf`,
  createHandler: 'api! basePath bodyBytesMax batchBytesMax unsentBytesMax',
  startBackground: `${PUBLISHER} ${ERASER} ${WEBHOOKS} counts`,
  createPublisher: PUBLISHER,
  createEraser: ERASER,
  createWebhooks: WEBHOOKS,
  webhooks: 'secretsKey secretsKeyPrevious allowedHosts allowedNetworks answers',
  memoryStore: 'everyEvent',
  sqliteStore: 'path! busyMsMax everyEvent',
  postgresStore: 'sql! everyEvent',
  chatCompletionsNamer: 'url! model! apiKey extraBody',
}
type Owner = keyof typeof OPTIONS
const namesOf = (owner: Owner): string[] => OPTIONS[owner].split(/!?\s+|!$/)

/** Throws if an option is unknown, is required and missing, or has an unusable value. */
export const checkOptions = <Options extends object>(owner: Owner, options: Options): Options => {
  const values = new Map<string, unknown>(Object.entries(typeof options === 'object' ? (options ?? {}) : {}))
  const needed: readonly string[] = OPTIONS[owner].match(/\w+(?=!)/g) ?? []
  for (const name of [...values.keys(), ...needed]) {
    if (!namesOf(owner).includes(name)) {
      const other = (Object.keys(OPTIONS) as Owner[]).find((other) => namesOf(other).includes(name))
      throw new TypeError(`${owner} has no option ${name}${other ? `: it belongs to ${other}` : ''}.`)
    }
    const [, fits, must] = RULES.find(([names]) => names.test(name)) ?? []
    if ((values.get(name) !== undefined || needed.includes(name)) && fits?.(values.get(name)) === false)
      throw new TypeError(`${name} ${must}.`)
  }
  return options
}
