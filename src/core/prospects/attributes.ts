import { membersOf } from '../../json/raw-json.ts'
import { ATTRIBUTES_MAX, type AttributesMode, VALUE_LENGTH_MAX } from '../../shapes/attributes.ts'
import { namesToRepeat } from '../../shapes/body.ts'
import type { RawJson } from '../../shapes/json.ts'
import { refuse } from '../engine/failures.ts'

/** Attributes by name: each value as JSON, a number as it was sent. Neither null nor blank. */
type Attributes = ReadonlyMap<string, string>
/** Attributes of a request, and whether they overwrite those that the prospect has. */
export type SentAttributes = { readonly values: Attributes; readonly mode: AttributesMode }
/** What a prospect gains. */
export type GainedAttributes = {
  /** All attributes of the prospect after that; null if it gains none. */
  readonly attributes: RawJson | null
  /** The names of those that it has no room for. */
  readonly leftOut: readonly string[]
}

/** The attributes of a request that checked its text against their shape. Refuses `invalid_request`: a very long number. */
export const sentAttributes = (
  sent: RawJson | undefined,
  mode: AttributesMode = 'fill',
): SentAttributes | null => {
  if (sent === undefined) return null
  const values = new Map<string, string>()
  for (const [name, value] of valuesIn(sent)) if (value !== null) values.set(name, value)
  return values.size === 0 ? null : { values, mode }
}

/** What is sent for each name; null for null and for a blank text. */
const valuesIn = ({ rawJson }: RawJson): [name: string, value: string | null][] =>
  [...membersOf(rawJson).members].map(([name, value]) => [name, writtenValue(name, value)])

const writtenValue = (name: string, { rawJson }: RawJson): string | null => {
  if (rawJson.startsWith('"')) {
    const text: string = JSON.parse(rawJson)
    return text.trim() === '' ? null : JSON.stringify(text)
  }
  if (rawJson.length > VALUE_LENGTH_MAX)
    refuse('invalid_request', 'An attribute is too long.', {
      errors: [
        {
          detail: `must be at most ${VALUE_LENGTH_MAX} characters long`,
          pointer: `/attributes/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
        },
      ],
    })
  return rawJson === 'null' ? null : rawJson
}

const storedIn = (stored: RawJson | null): Map<string, string> => {
  const members = stored === null ? [] : [...membersOf(stored.rawJson).members]
  return new Map(members.map(([name, { rawJson }]) => [name, rawJson]))
}
const textOf = (values: Attributes): RawJson => {
  const members = Array.from(values, ([name, value]) => `${JSON.stringify(name)}:${value}`)
  return { rawJson: `{${members}}` }
}

export const NOTHING_GAINED: GainedAttributes = { attributes: null, leftOut: [] }

/** Fills blanks, and overwrites if that is the mode. Once there are 50 attributes, others are left out. */
export const gainedAttributes = (stored: RawJson | null, sent: SentAttributes | null): GainedAttributes => {
  if (sent === null) return NOTHING_GAINED
  const values = storedIn(stored)
  const leftOut: string[] = []
  let isChanged = false
  for (const [name, value] of sent.values) {
    const before = values.get(name)
    const isBlank = before === undefined
    if (isBlank && values.size === ATTRIBUTES_MAX) leftOut.push(name)
    else if (isBlank || (sent.mode === 'overwrite' && before !== value)) {
      values.set(name, value)
      isChanged = true
    }
  }
  return { attributes: isChanged ? textOf(values) : null, leftOut }
}

/** The attributes of a survivor, whose blanks those of a merged prospect fill. */
export const mergedAttributes = (survivor: RawJson | null, merged: RawJson | null) => {
  const { attributes, leftOut } = gainedAttributes(survivor, sentAttributes(merged ?? undefined))
  return { attributes: attributes ?? survivor, leftOut }
}

/** Replaces attributes; removes those that are null or blank. The same object if nothing changes. Refuses `limit_reached`. */
export const correctedAttributes = (stored: RawJson | null, changes: RawJson | undefined): RawJson | null => {
  if (changes === undefined) return stored
  const values = storedIn(stored)
  const before = textOf(values).rawJson
  for (const [name, value] of valuesIn(changes)) {
    if (value === null) values.delete(name)
    else values.set(name, value)
  }
  if (values.size > ATTRIBUTES_MAX)
    refuse('limit_reached', `A prospect has at most ${ATTRIBUTES_MAX} attributes.`)
  const after = textOf(values)
  if (after.rawJson === before) return stored
  return values.size === 0 ? null : after
}

/** How an answer names attributes that are not stored. */
export const ignoredAttributes = (leftOut: readonly string[]): string[] =>
  namesToRepeat(leftOut).map((name) => `attributes/${name}`)
