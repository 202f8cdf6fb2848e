import type * as v from 'valibot'
import type { Fault } from '../core/engine/failures.ts'
import { parseJson, refuseDeep, refuseFaults } from '../core/engine/parse-input.ts'
import { membersOf } from '../json/raw-json.ts'
import { checkShape } from '../shapes/check.ts'
import type { InTenant } from '../shapes/input.ts'
import { type RawJson, withTexts } from '../shapes/json.ts'

/** The slice of a list to return: `limit` is 1 to 100, by default 20; `cursor` the `nextCursor` of the slice before. */
export type SliceOptions = { readonly limit?: number | undefined; readonly cursor?: string | undefined }
/** The members of all operations that are JSON texts. */
const TEXTS = ['payload', 'content', 'actions', 'footerLinks', 'scripts'] as const
/** Over HTTP these are texts, and so their shapes are those of texts. */
const NUMBERS = ['limit', 'wait']
type Wait<Name> = 'wait' extends Name ? { readonly wait?: number | undefined } : unknown
/** The input of an operation with these members: JSON texts in place of parsed JSON, and numbers in a query. */
export type Given<
  Entries extends v.ObjectEntries,
  Members = v.InferInput<InTenant<Entries>>,
> = 'limit' extends keyof Entries
  ? SliceOptions & Wait<keyof Entries> & Omit<Members, keyof SliceOptions | 'wait'>
  : {
      readonly [Name in keyof Members]: Name extends (typeof TEXTS)[number]
        ? RawJson | Extract<Members[Name], null | undefined>
        : Members[Name]
    }

/** An operation's input, checked against its shape. JSON texts are parsed for that, and passed on unchanged. */
export const checked = <Input>(
  shape: v.GenericSchema<unknown, Input> & { readonly entries: object },
  given: unknown,
): Input => {
  const texts = new Map<string, RawJson>()
  const values: Record<string, unknown> = { ...Object(given) }
  const isList = 'limit' in shape.entries
  for (const name of NUMBERS) if (isList && values[name] !== undefined) values[name] = String(values[name])
  const notTexts = new Set<unknown>()
  for (const name of TEXTS.filter((name) => name in shape.entries)) {
    const { rawJson } = Object(values[name]) as Partial<RawJson>
    if (typeof rawJson === 'string') {
      texts.set(name, { rawJson })
      values[name] = parseJson(rawJson, name)
      refuseDeep(membersOf(`{"${name}":${rawJson}}`).depth, name)
    } else if (values[name] !== undefined) {
      notTexts.add(`/${name}`)
      // The shape says whether it may be null; it refuses anything else.
      values[name] = values[name] === null ? null : false
    }
  }
  const { output, faults: found } = checkShape(shape, values, isList ? 'parameter' : 'pointer')
  const detail = 'must be { rawJson }: the text of a JSON value'
  const faults: Fault[] = found.map((one) => (notTexts.has(one['pointer']) ? { ...one, detail } : one))
  const words = new Set(faults.map(({ detail, pointer, parameter }) => `${pointer ?? parameter} ${detail}`))
  refuseFaults(faults, `Invalid input: ${[...words].join('; ')}.`)
  return withTexts(output, texts)
}
