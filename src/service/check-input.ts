import { isDate } from 'node:util/types'
import type * as v from 'valibot'
import type { Fault } from '../core/engine/failures.ts'
import { orNull } from '../core/engine/or-null.ts'
import { parseJson, refuseDeep, refuseFaults } from '../core/engine/parse-input.ts'
import { endOfValue, skipBlanks } from '../json/raw-json.ts'
import type { InTenant } from '../shapes/input.ts'
import { checkShape, type RawJson, withTexts } from '../shapes/json.ts'
import { type Form, formOf } from '../shapes/text.ts'

/** The input of an operation with these members. JSON may be a value or its text, a time a `Date`; numbers are numbers. */
export type InputOf<
  Entries extends v.ObjectEntries,
  Members = v.InferInput<InTenant<Entries>>,
  Output = v.InferOutput<InTenant<Entries>>,
> = {
  readonly [Name in keyof Members]:
    | ([string, number] extends [Members[Name], Output[Name & keyof Output]]
        ? // Digits in a query.
          number | undefined
        : Members[Name])
    // A member that is kept as JSON text, or nothing.
    | (Output[Name & keyof Output] extends infer Kept ? (Kept extends RawJson ? Kept : never) : never)
} & unknown // Editors show the members of an intersection instead of the name of this type.

/** Checks the input of an operation against its shape. JSON texts are parsed for that, and passed on unchanged. */
export const createCheckInput = <Input>(
  shape: v.GenericSchema<unknown, Input> & { readonly entries: object },
) => {
  const forms = formsIn(shape.entries)
  // The members of a list's input are parameters of its query.
  const place = 'limit' in shape.entries ? 'parameter' : 'pointer'
  return (input: unknown): Input => {
    const { values, texts, notContainers } = asOverHttp(input, forms)
    const { output, faults } = checkShape(shape, values, place)
    if (faults.length > 0) refuseInput(faults, notContainers)
    return withTexts(output, texts)
  }
}

const formsIn = (entries: object): ReadonlyMap<string, Form> => {
  const forms = new Map<string, Form>()
  for (const [name, schema] of Object.entries(entries)) {
    const form = formOf(schema)
    if (form !== undefined) forms.set(name, form)
  }
  return forms
}

/** The values as HTTP would pass them, the JSON texts of members, and pointers to values that are no object or array. */
const asOverHttp = (input: unknown, forms: ReadonlyMap<string, Form>) => {
  const values: Record<string, unknown> = { ...Object(input) }
  const texts = new Map<string, RawJson>()
  const notContainers = new Set<string>()
  for (const [name, form] of forms) {
    if (values[name] === undefined) continue
    const member = MEMBER_OVER_HTTP[form](values[name], name)
    values[name] = member.value
    if (member.text !== undefined) texts.set(name, member.text)
    if (member.isNotContainer) notContainers.add(`/${name}`)
  }
  return { values, texts, notContainers }
}

type MemberOverHttp = {
  /** The value that the shape checks. */
  readonly value: unknown
  /** The JSON text of the value, if that is kept. */
  readonly text?: RawJson
  /** Whether a JSON member is no object or array. Only few shapes accept that. */
  readonly isNotContainer?: true
}

/** Stands for a value that has no JSON text. Every shape refuses it, and knows its place. */
const WITHOUT_JSON = Symbol('a value without JSON text')

const jsonOverHttp = (value: unknown, name: string): MemberOverHttp => {
  // Some shapes accept a template as a string, and some accept null.
  if (typeof value === 'string') {
    return { value, text: { rawJson: JSON.stringify(value) }, isNotContainer: true }
  }
  if (value === null) return { value, isNotContainer: true }
  const rawJson = textOf(value)
  if (rawJson === null) return { value: WITHOUT_JSON, isNotContainer: true }
  const parsed = parseJson(rawJson, name)
  const { depth } = endOfValue(rawJson, skipBlanks(rawJson, 0))
  refuseDeep(depth, name)
  return { value: parsed, text: { rawJson } }
}

/** A time as text. An invalid time becomes a text that the shape refuses. */
const timeOverHttp = (value: unknown): MemberOverHttp => ({
  value: isDate(value) ? (orNull(() => value.toISOString()) ?? String(value)) : value,
})

const numberOverHttp = (value: unknown): MemberOverHttp => ({ value: String(value) })

const MEMBER_OVER_HTTP = { json: jsonOverHttp, time: timeOverHttp, number: numberOverHttp }

const refuseInput = (faults: readonly Fault[], notContainers: ReadonlySet<unknown>): never => {
  const detail = 'must be a plain object or array, or { rawJson } with its JSON text'
  const errors: Fault[] = faults.map((fault) =>
    notContainers.has(fault['pointer']) ? { ...fault, detail } : fault,
  )
  const lines = errors.map(({ detail, pointer, parameter }) => `${pointer ?? parameter} ${detail}`)
  return refuseFaults(errors, `Invalid input: ${[...new Set(lines)].join('; ')}.`)
}

/** The JSON text of an object or array; null if it has none. `JSON.stringify` would write a `Map` or a promise as `{}`. */
const textOf = (value: unknown): string | null => {
  if (!/^\[object (Object|Array)\]$/.test(Object.prototype.toString.call(value))) return null
  const { rawJson, ...more } = value as Partial<RawJson>
  if (!Object.hasOwn(value as object, 'rawJson')) return orNull(() => JSON.stringify(value)) ?? null
  return typeof rawJson === 'string' && Object.keys(more).length === 0 ? rawJson : null
}
