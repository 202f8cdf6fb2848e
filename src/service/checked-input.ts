import { isDate } from 'node:util/types'
import type * as v from 'valibot'
import type { Fault } from '../core/engine/failures.ts'
import { orNull } from '../core/engine/outcome.ts'
import { parseJson, refuseDeep, refuseFaults } from '../core/engine/parse-input.ts'
import { membersOf } from '../json/raw-json.ts'
import type { InTenant } from '../shapes/input.ts'
import { checkShape, type RawJson, withTexts } from '../shapes/json.ts'

/** The members of all operations that are JSON texts. */
const TEXTS = ['payload', 'content', 'actions', 'footerLinks', 'scripts', 'body'] as const
/** The members of all operations that are times. */
export const TIMES = ['occurredAt', 'since', 'until', 'publishAt', 'unpublishAt'] as const
/** Over HTTP these are texts, and so their shapes are those of texts. */
const NUMBERS = ['limit', 'wait'] as const

/** The input of an operation with these members. JSON may be a value or its text, a time a `Date`; numbers are numbers. */
export type Given<Entries extends v.ObjectEntries, Members = v.InferInput<InTenant<Entries>>> = {
  readonly [Name in keyof Members]: Name extends (typeof TEXTS)[number]
    ? Members[Name] | RawJson
    : Name extends (typeof TIMES)[number]
      ? Members[Name] | Date
      : Name extends (typeof NUMBERS)[number]
        ? number | undefined
        : Members[Name]
} & unknown // An intersection has no alias, so editors show its members.

/** An operation's input, checked against its shape. JSON texts are parsed for that, and passed on unchanged. */
export const checked = <Input>(
  shape: v.GenericSchema<unknown, Input> & { readonly entries: object },
  input: unknown,
): Input => {
  const texts = new Map<string, RawJson>()
  const values: Record<string, unknown> = { ...Object(input) }
  const among = (names: readonly string[]) =>
    names.filter((name) => name in shape.entries && values[name] !== undefined)
  const isList = 'limit' in shape.entries
  for (const name of among(NUMBERS)) values[name] = String(values[name])
  for (const name of among(TIMES)) values[name] = timeOf(values[name])
  const notTexts = new Set<unknown>()
  for (const name of among(TEXTS)) {
    const isString = name === 'body' && typeof values[name] === 'string'
    const rawJson = isString ? JSON.stringify(values[name]) : textOf(values[name])
    if (rawJson !== null) {
      texts.set(name, { rawJson })
      values[name] = parseJson(rawJson, name)
      refuseDeep(membersOf(`{"${name}":${rawJson}}`).depth, name)
    } else {
      notTexts.add(`/${name}`)
      // The shape says whether it may be null; it refuses anything else.
      values[name] = values[name] === null ? null : false
    }
  }
  const { output, faults: found } = checkShape(shape, values, isList ? 'parameter' : 'pointer')
  const detail = 'must be a plain object or array, or { rawJson } with its JSON text'
  const faults: Fault[] = found.map((one) => (notTexts.has(one['pointer']) ? { ...one, detail } : one))
  const words = new Set(faults.map(({ detail, pointer, parameter }) => `${pointer ?? parameter} ${detail}`))
  if (faults.length > 0) refuseFaults(faults, `Invalid input: ${[...words].join('; ')}.`)
  return withTexts(output, texts)
}

/** A time as text; an invalid one too, for the shape to refuse. */
const timeOf = (value: unknown): unknown =>
  isDate(value) ? (orNull(() => value.toISOString()) ?? String(value)) : value

/** The JSON text of an object or an array; null if it has none. `JSON.stringify` would write a `Map` or a promise as `{}`. */
const textOf = (value: unknown): string | null => {
  if (!/^\[object (Object|Array)\]$/.test(Object.prototype.toString.call(value))) return null
  const { rawJson, ...more } = value as Partial<RawJson>
  if (!Object.hasOwn(value as object, 'rawJson')) return orNull(() => JSON.stringify(value)) ?? null
  return typeof rawJson === 'string' && Object.keys(more).length === 0 ? rawJson : null
}
