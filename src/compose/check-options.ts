import { isNetwork } from '../config/settings.ts'

const KINDS: readonly (readonly [RegExp, fits: (value: unknown) => boolean, must: string])[] = [
  [/^store$/, (value) => Object(value).watch !== undefined, 'is required, such as memoryStore()'],
  [/^api$/, (value) => typeof value === 'function', 'must be what createApi returns'],
  [/^sql$/, (value) => typeof value === 'function', 'must be an instance of postgres.js'],
  [/path$/i, (value) => typeof value === 'string', 'must be a string'],
  [/^secretsKey$/, (key) => key === null || Object(key).byteLength === 32, 'must be a Buffer of 32 bytes'],
  [/^allowedNet/, (list) => Array.isArray(list) && list.every(isNetwork), 'must be an array of networks'],
]
/** What a time or a count may be: the first that fits the name. A longer timer would end at once. */
const RANGES: readonly (readonly [RegExp, least: number, most: number])[] = [
  [/^prospectsRememberedMax$/, 0, 1e7],
  [/^eventDaysKept$/, 1, 3_650],
  [/^retentionDays$/, 0, 36_500],
  [/^(namerPatience|busy)Ms/, 0, 2 ** 31 - 1],
  [/Ms(Max)?$/, 1, 2 ** 31 - 1],
  [/(Max|PerMinute)$/, 1, 1e11],
]

/** Throws where an option is missing that is needed, or is nothing to work with. */
export const checkOptions = <Options extends object>(options: Options, needed = ''): Options => {
  for (const [name, value] of Object.entries({ [needed]: undefined, ...options } as object)) {
    const [, fits, must] = KINDS.find(([names]) => names.test(name)) ?? []
    if ((value !== undefined || name === needed) && fits?.(value) === false)
      throw new TypeError(`${name} ${must}.`)
    const [, least, most] = RANGES.find(([names]) => names.test(name)) ?? []
    if (least === undefined || most === undefined || value === null || value === undefined) continue
    if (!Number.isSafeInteger(value) || value < least || value > most)
      throw new TypeError(`${name} must be a whole number from ${least} to ${most}.`)
  }
  return options
}
