import { deepStrictEqual } from 'node:assert/strict'

export { equal, match, ok } from 'node:assert/strict'

/** Equal in all fields; it does not matter which kind of object a driver makes its rows of. */
export const same = (actual: unknown, expected: unknown): void =>
  deepStrictEqual(plain(actual), plain(expected))

/** Equal in the fields that are expected. */
export const like = (actual: unknown, expected: unknown): void =>
  same(restrictedTo(actual, expected), expected)

/** A Set is not: it has no fields, and is compared as a whole. */
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !(value instanceof Set)

const plain = (value: unknown): unknown => {
  // They have no fields, either: any two of them would be equal.
  if (value instanceof Date || value instanceof Map) throw new TypeError('A store keeps no Date and no Map.')
  if (Array.isArray(value)) return Array.from(value, plain)
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plain(field)]))
}

const restrictedTo = (value: unknown, expected: unknown): unknown => {
  if (!isRecord(value) || !isRecord(expected)) return value
  if (Array.isArray(value)) return value.map((item, i) => restrictedTo(item, Object(expected)[i]))
  const fields = Object.keys(expected).filter((name) => Object.hasOwn(value, name))
  return Object.fromEntries(fields.map((name) => [name, restrictedTo(value[name], expected[name])]))
}
