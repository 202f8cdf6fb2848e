import type * as v from 'valibot'
import { parseJson, refuseDeep, refuseFaults } from '../adapters/http/parse-request.ts'
import type { Fault } from '../core/failures.ts'
import { membersOf } from '../json/raw-json.ts'
import { checkShape } from '../shapes/check.ts'
import { type RawJson, withTexts } from '../shapes/json.ts'

export type Shape<Given, Input> = v.GenericSchema<Given, Input>
/** What is given, with JSON texts in place of parsed JSON. */
export type WithTexts<Given, Raw> = [Raw] extends [never]
  ? Given
  : {
      readonly [Name in keyof Given]: Name extends Raw
        ? RawJson | Extract<Given[Name], null | undefined>
        : Given[Name]
    }
/** Which slice of a list to return: `limit` is 1 to 100, by default 20; `cursor` the `nextCursor` of the slice before. */
export type SliceOptions = { readonly limit?: number | undefined; readonly cursor?: string | undefined }

/** What an operation is given, checked against its shape. JSON texts are parsed for that, and passed on unchanged. */
export const checked = <Input>(
  shape: Shape<unknown, Input>,
  given: unknown,
  rawNames: readonly string[] = [],
  place: 'pointer' | 'parameter' = 'pointer',
): Input => {
  const texts = new Map<string, RawJson>()
  const values: Record<string, unknown> = { ...Object(given) }
  const notTexts: string[] = []
  for (const name of rawNames) {
    const { rawJson } = Object(values[name]) as Partial<RawJson>
    if (typeof rawJson === 'string') {
      texts.set(name, { rawJson })
      values[name] = parseJson(rawJson, name)
      refuseDeep(membersOf(`{"${name}":${rawJson}}`).depth, name)
    } else if (values[name] !== undefined) notTexts.push(`/${name}`)
  }
  const { output, faults: others } = checkShape(shape, values, place)
  // The shape says whether it may be null.
  const isWrong = (pointer: string) =>
    values[pointer.slice(1)] !== null || others.some((other) => other['pointer'] === pointer)
  const detail = 'must be { rawJson }: the text of a JSON value'
  const faults: Fault[] = [
    ...notTexts.filter(isWrong).map((pointer) => ({ detail, pointer })),
    ...others.filter((other) => !notTexts.includes(other['pointer'] ?? '')),
  ]
  const words = faults.map(({ detail, pointer, parameter }) => `${pointer ?? parameter} ${detail}`)
  refuseFaults(faults, `Invalid input: ${words.join('; ')}.`)
  return withTexts(output, texts)
}

/** Over HTTP the limit is a text, and so its shape is one of a text. */
export const checkedList = <Input>(shape: Shape<unknown, Input>, { limit, ...list }: SliceOptions = {}) =>
  checked(shape, { ...list, ...(limit !== undefined && { limit: String(limit) }) }, [], 'parameter')
