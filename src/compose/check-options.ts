/** What a time or a count may be: the first that fits the name. A longer timer would end at once. */
const RANGES: readonly (readonly [RegExp, least: number, most: number])[] = [
  [/^prospectsRememberedMax$/, 0, 1e7],
  [/^retentionDays$/, 0, 36_500],
  [/^(namerPatience|busy)Ms/, 0, 2 ** 31 - 1],
  [/Ms(Max)?$/, 1, 2 ** 31 - 1],
  [/(Max|PerMinute)$/, 1, 1e11],
]

/** Throws where the store is missing, a path is not a text, or a time or a count is nothing to work with. */
export const checkOptions = <Options extends object>(options: Options): Options => {
  for (const [name, value] of Object.entries(options)) {
    if (name === 'store' && !value?.watch) throw new TypeError('store is required, such as memoryStore().')
    if (/path$/i.test(name) && typeof value !== 'string') throw new TypeError(`${name} must be a string.`)
    const [, least, most] = RANGES.find(([names]) => names.test(name)) ?? []
    if (least === undefined || most === undefined || value === null || value === undefined) continue
    if (!Number.isSafeInteger(value) || value < least || value > most)
      throw new TypeError(`${name} must be a whole number from ${least} to ${most}.`)
  }
  return options
}
