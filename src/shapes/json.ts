import * as v from 'valibot'
import type { RawJson } from '../json/raw-json.ts'
import { documented, inForm } from './text.ts'

export type { RawJson } from '../json/raw-json.ts'

/** Stands for a value of which only the text is kept. */
const AS_SENT: RawJson = { rawJson: '' }
export const asSent = (): RawJson => AS_SENT
/** The same for a value whose members are checked: it must be parsed, however long it is. */
const CHECKED: RawJson = { rawJson: '' }
export const textOnceChecked = (): RawJson => CHECKED

/** Whether only the text of a member is kept, or nothing of it. */
export const isKept = (output: unknown, name: string): boolean =>
  [AS_SENT, undefined].includes((output as Record<string, RawJson> | undefined)?.[name])

/** The names of the members that are kept as text, in the output of a shape for a JSON object. */
export const namesOfTexts = <Output>(output: Output) => {
  const names: Extract<keyof Output, string>[] = []
  for (const name in output) if (output[name] === AS_SENT || output[name] === CHECKED) names.push(name)
  return names
}

/** The same output, with the texts of these members. */
export const withTexts = <Output>(output: Output, members: ReadonlyMap<string, RawJson>): Output => {
  for (const name of namesOfTexts(output)) output[name] = members.get(name) as never
  return output
}

export const isObject = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Any JSON object, kept as its text. */
export const anyObject = (description: string) =>
  inForm(
    'json',
    v.pipe(
      documented(v.custom<object>(isObject, 'must be an object'), {
        type: 'object',
        additionalProperties: true,
      }),
      v.description(description),
      v.transform(asSent),
    ),
  )

/** A JSON array of anything, kept as its text. */
export const anyArray = (description: string) =>
  inForm('json', v.pipe(v.array(v.unknown()), v.description(description), v.transform(asSent)))

/** A JSON array of anything, returned as its exact text. */
export const rawArray = () => documented(v.object({ rawJson: v.string() }), { type: 'array', items: {} })

/** A JSON object of anything, returned as its exact text. */
export const rawObject = () =>
  documented(v.object({ rawJson: v.string() }), { type: 'object', additionalProperties: true })

/** Checks a value against the shape of an object: its output, and all faults with their places. */
export const checkShape = <Shape extends v.GenericSchema>(
  shape: Shape,
  input: unknown,
  place: 'pointer' | 'parameter' = 'pointer',
) => {
  // valibot takes an array for an object without members.
  const { output, issues = [] } = v.safeParse(shape, Array.isArray(input) ? null : input)
  const faults = issues.map((issue) => {
    const path = (issue.path ?? []).map(({ key }) => String(key))
    return { detail: detailOf(issue), [place]: place === 'pointer' ? pointerTo(path) : (path[0] ?? '') }
  })
  return { output: output as v.InferOutput<Shape>, faults }
}

/** valibot's messages quote the value, which may be a person's email. */
const detailOf = (issue: v.BaseIssue<unknown>): string => {
  if (issue.kind === 'validation' || issue.type === 'custom') return issue.message
  if (issue.expected === 'never') return 'is not a known member'
  if (issue.type === 'literal') return `must be ${issue.expected}`
  if (issue.received === 'undefined') return 'is required'
  if (issue.type === 'picklist')
    return `must be one of ${issue.expected?.replaceAll(/[()"]/g, '').replaceAll(' |', ',')}`
  const kind = issue.expected?.toLowerCase() ?? ''
  return `must be ${/^[aeio]/.test(kind) ? 'an' : 'a'} ${kind}`
}

/** A place in a JSON document, as RFC 6901 writes it. */
const pointerTo = (path: readonly string[]): string =>
  path.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
