import { isDate } from 'node:util/types'
import type * as v from 'valibot'
import type { Fault } from '../core/engine/failures.ts'
import { orNull } from '../core/engine/or-null.ts'
import { parseJson, refuseDeep, refuseFaults } from '../core/engine/parse-input.ts'
import { membersOf } from '../json/raw-json.ts'
import type { InTenant } from '../shapes/input.ts'
import { asSent, checkShape, type RawJson, withTexts } from '../shapes/json.ts'

/** The input of an operation with these members. JSON may be a value or its text, a time a `Date`; numbers are numbers. */
export type InputOf<
  Entries extends v.ObjectEntries,
  Members = v.InferInput<InTenant<Entries>>,
  Output = v.InferOutput<InTenant<Entries>>,
> = {
  readonly [Name in keyof Members]: MemberOf<Members[Name], Output[Name & keyof Output]>
} & unknown // An intersection has no alias, so editors show its members.

/** A member that is kept as JSON text, that is digits in a query, or that a program passes as HTTP does. */
type MemberOf<Member, Output> = [Extract<Output, RawJson>] extends [never]
  ? [string, number] extends [Member, Output]
    ? number | undefined
    : Member
  : Member | RawJson

/** The members that programs pass in another form than HTTP does, for which the shapes are made. */
type Form = 'json' | 'time' | 'number'

/** Checks the input of an operation against its shape. JSON texts are parsed for that, and passed on unchanged. */
export const createCheckInput = <Input>(
  shape: v.GenericSchema<unknown, Input> & { readonly entries: object },
) => {
  const forms = formsIn(shape.entries)
  // The members of a list's input are parameters of its query.
  const place = 'limit' in shape.entries ? 'parameter' : 'pointer'
  return (input: unknown): Input => {
    const { values, texts, notJson } = asOverHttp(input, forms)
    const { output, faults } = checkShape(shape, values, place)
    if (faults.length > 0) refuseInput(faults, notJson)
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

/** A schema of valibot, or a step of its pipe. `wrapped` is the schema of an optional or nullable value. */
type Part = {
  readonly pipe?: readonly Part[]
  readonly wrapped?: Part
  readonly operation?: unknown
  readonly jsonSchema?: { readonly format?: string }
}
const formOf = (part: Part): Form | undefined => {
  if (part.operation === asSent) return 'json'
  if (part.operation === Number) return 'number'
  if (part.jsonSchema?.format === 'date-time') return 'time'
  for (const inner of [part.wrapped, ...(part.pipe ?? [])]) {
    const form = inner && formOf(inner)
    if (form !== undefined) return form
  }
  return undefined
}

/** The values as HTTP would pass them, the JSON texts of members, and pointers to values that are no object or array. */
const asOverHttp = (input: unknown, forms: ReadonlyMap<string, Form>) => {
  const values: Record<string, unknown> = { ...Object(input) }
  const texts = new Map<string, RawJson>()
  const notJson = new Set<string>()
  for (const [name, form] of forms) {
    const value = values[name]
    if (value === undefined) continue
    if (form === 'number') values[name] = String(value)
    else if (form === 'time') values[name] = timeOf(value)
    else {
      const rawJson = typeof value === 'string' ? JSON.stringify(value) : textOf(value)
      // Of strings, shapes accept only templates.
      if (rawJson === null || typeof value === 'string') notJson.add(`/${name}`)
      if (rawJson === null) {
        // The shape says whether it may be null; it refuses `false`.
        values[name] = value === null ? null : false
      } else {
        texts.set(name, { rawJson })
        values[name] = parseJson(rawJson, name)
        refuseDeep(membersOf(`{"${name}":${rawJson}}`).depth, name)
      }
    }
  }
  return { values, texts, notJson }
}

const refuseInput = (faults: readonly Fault[], notJson: ReadonlySet<unknown>): never => {
  const detail = 'must be a plain object or array, or { rawJson } with its JSON text'
  const errors: Fault[] = faults.map((fault) =>
    notJson.has(fault['pointer']) ? { ...fault, detail } : fault,
  )
  const lines = errors.map(({ detail, pointer, parameter }) => `${pointer ?? parameter} ${detail}`)
  return refuseFaults(errors, `Invalid input: ${[...new Set(lines)].join('; ')}.`)
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
