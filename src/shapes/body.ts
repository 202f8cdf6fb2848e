import * as v from 'valibot'
import { isNear } from './near.ts'

/** Unknown members of one body that are compared: that costs next to nothing. */
const COMPARED_MAX = 32
/** How long their names may be, in characters. */
const LENGTH_MAX = 40
/** Two letters may be wrong in names from this length on: `customerName` is not `customName`. */
const LONG = 15
/** Different words, one letter away from a member. */
const OTHER_WORDS = new Set('auctions consent context info pagecontent stats tile'.split(' '))

type Shape<Entries extends v.ObjectEntries> = v.ObjectSchema<Entries, undefined>

/**
 * An object that is the body of an operation. Unknown members are ignored, but one whose name is nearly that of a
 * member is a typing error, and is refused: with `publsh` ignored, a draft would be published. Not for activities, to
 * which systems add members as they like.
 */
export const bodyOf = <const Entries extends v.ObjectEntries>(entries: Entries): Shape<Entries> => {
  const shape = v.object(entries)
  const members = Object.entries(entries).map(([name, schema]) => ({ name, word: wordOf(name), schema }))
  const run = shape['~run'].bind(shape)
  const runAndCompare: typeof run = (dataset, config) => {
    const given = Object(dataset.value)
    const checked = run(dataset, config)
    const issues = issuesOf(given, members)
    if (issues.length > 0) Object.assign(checked, { issues: [...(checked.issues ?? []), ...issues] })
    return checked
  }
  return Object.assign(shape, { '~run': runAndCompare, refusesNear: true })
}

/** An object with other members, which refuses near names if the given shape does. */
export const objectLike = (body: object | undefined) => (body && 'refusesNear' in body ? bodyOf : v.object)

type Given = Readonly<Record<string, unknown>>
type Members = readonly { readonly name: string; readonly word: string; readonly schema: v.GenericSchema }[]

const issuesOf = (given: Given, members: Members) => {
  const issues: object[] = []
  let left = COMPARED_MAX
  for (const key in given) {
    if (members.some(({ name }) => name === key)) continue
    if (left-- === 0) break
    const meant = meantBy(key, given, members)
    const message = `is not a member; did you mean \`${meant?.name}\`?`
    if (meant) issues.push({ kind: 'validation', type: 'near', message, path: [{ key }] })
  }
  return issues
}

/**
 * The member that was meant. Another spelling, a singular or a plural is a mistake only if the member itself is
 * missing; a typing error always is one, because either could be meant. `names` with a list differs from `name`.
 */
const meantBy = (key: string, given: Given, members: Members) => {
  const word = key.length > LENGTH_MAX ? '' : wordOf(key)
  if (OTHER_WORDS.has(word)) return undefined
  return members.find(({ name, word: wanted, schema }) => {
    const isLong = Math.min(word.length, wanted.length) > 3
    const isSingular = isLong && `${word}s` === wanted
    const isPlural = isLong && word === `${wanted}s`
    if (word !== wanted && !isSingular && !isPlural) return isTypo(word, wanted)
    return !Object.hasOwn(given, name) && (!isPlural || v.is(schema, given[key]))
  })
}

/** A short word has the right first letter: `fname` is not `name`. `email2` is not `email`. */
const isTypo = (word: string, wanted: string): boolean => {
  const isSimilar = wanted.length > (word[0] === wanted[0] ? 3 : 5) && !/\d|^_/.test(word)
  return isSimilar && isNear(word, wanted, wanted.length < LONG ? 1 : 2)
}

/** A name without the differences between `customName`, `custom_name` and `Custom-Name`. `_type` is not `type`. */
const wordOf = (name: string): string => name.toLowerCase().replace(/(?<=.)[-_ ]/g, '')
