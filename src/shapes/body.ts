import * as v from 'valibot'
import { nearest } from './near.ts'

/** Maximum unknown members that an answer names, and the length of a name that it repeats. */
export const NAMED_MAX = 20
const NAME_LENGTH_MAX = 100

type Shape<Entries extends v.ObjectEntries> = v.ObjectSchema<Entries, undefined>

/** The names of the first members that the shape does not have. */
const unknownIn = (entries: v.ObjectEntries, body: unknown): string[] => {
  const unknown: string[] = []
  if (typeof body !== 'object') return unknown
  for (const name in body) {
    if (Object.hasOwn(entries, name)) continue
    unknown.push(name)
    if (unknown.length === NAMED_MAX) break
  }
  return unknown
}

/**
 * An object that is an input of an operation. Each unknown member is refused by name: with `publsh` ignored, a draft would
 * be published.
 */
export const bodyOf = <const Entries extends v.ObjectEntries>(entries: Entries): Shape<Entries> => {
  const object = v.object(entries)
  const run: (typeof object)['~run'] = (dataset, config) => {
    const unknown = unknownIn(entries, dataset.value)
    const checked = object['~run'](dataset, config)
    if (unknown.length === 0) return checked
    const issues = [...(checked.issues ?? []), ...unknown.map((name) => unknownMember(name, entries))]
    return Object.assign(checked, { issues })
  }
  // Its type tells the OpenAPI document that there are no other members.
  return Object.assign(v.strictObject(entries), { '~run': run }) as never
}

const UNNAMED = '…'
/** Whether an answer may repeat a name: a long one or an email is data in the wrong place. */
const isName = (name: string): boolean => name.length <= NAME_LENGTH_MAX && !name.includes('@')
/** The first of these names, as an answer repeats them. */
export const namesToRepeat = (names: readonly string[]): string[] =>
  names.slice(0, NAMED_MAX).map((name) => (isName(name) ? name : UNNAMED))

const unknownMember = (name: string, entries: v.ObjectEntries) => {
  if (!isName(name)) return { kind: 'validation', type: 'unknown', message: 'has an unknown member' }
  const meant = nearest(name, Object.keys(entries))
  const hint = meant === undefined ? '' : `; did you mean \`${meant}\`?`
  return {
    kind: 'validation',
    type: 'unknown',
    message: `is not a known member${hint}`,
    path: [{ key: name }],
  }
}

/** What is not stored of an activity, named in its receipt: unknown members, and attributes that there is no room for. */
export type Ignored = { readonly ignored?: string[] | undefined }

/**
 * An activity in a request. Unknown members are ignored, because systems add members freely and no activity must be lost
 * for one. Their names are `ignored` in the output.
 */
export const lenientOf = <const Entries extends v.ObjectEntries>(entries: Entries): Shape<Entries> => {
  const object = v.object(entries)
  const run: (typeof object)['~run'] = (dataset, config) => {
    const unknown = unknownIn(entries, dataset.value)
    const checked = object['~run'](dataset, config)
    const ignored = namesToRepeat(unknown)
    if (checked.typed && ignored.length > 0) Object.assign(checked.value, { ignored })
    return checked
  }
  return { ...object, '~run': run }
}
