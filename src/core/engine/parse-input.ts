import type * as v from 'valibot'
import { scanMembers } from '../../json/is-json.ts'
import { membersOf, NESTING_MAX } from '../../json/raw-json.ts'
import { checkShape, isKept, type RawJson, withTexts } from '../../shapes/json.ts'
import { type Fault, refuse } from './failures.ts'
import { orNull } from './outcome.ts'

const FAULTS_MAX = 20
export const SEE_ERRORS = 'The request is invalid. See `errors`.'

export const refuseFaults = (faults: readonly Fault[], detail: string): never =>
  refuse('invalid_request', detail, { errors: faults.slice(0, FAULTS_MAX) })

/** Parses a text against a shape; members kept as text keep their exact text. Refuses `invalid_json`. */
export const parseText = <Shape extends v.GenericSchema>(shape: Shape, text: string, parsed?: unknown) => {
  const scanned = text.length > LONG_TEXT && /^\s*\{/.test(text) ? scanMembers(text, MEMBERS_MAX) : null
  const whole = parsed ?? (scanned ? undefined : parseJson(text))
  const { members, depth } = scanned ?? membersOf(text)
  refuseDeep(depth)
  if (members.size > MEMBERS_MAX) refuse('invalid_request', `The body has more than ${MEMBERS_MAX} members.`)
  const short = scanned ? checkShape(shape, JSON.parse(withoutContents(members))) : undefined
  // Only the kind of a member that is kept as text is checked.
  const isEnough =
    short && [...members].every(([name, value]) => !isEmptied(value) || isKept(short.output, name))
  const { output, faults } = isEnough ? short : checkShape(shape, whole ?? parseJson(text))
  return { body: faults.length === 0 ? withTexts(output, members) : output, faults }
}
/** Parsing a longer text can take many milliseconds, if it has many small values. */
export const LONG_TEXT = 65_536
/** Each takes time, even those that are ignored. */
const MEMBERS_MAX = 5_000
const isEmptied = ({ rawJson }: RawJson) => rawJson.length > LONG_TEXT && /^[[{]/.test(rawJson)
/** An object with these members, its long objects and arrays emptied. */
const withoutContents = (members: ReadonlyMap<string, RawJson>): string => {
  const texts = [...members].map(([name, value]) => {
    const kept = isEmptied(value) ? (value.rawJson.startsWith('{') ? '{}' : '[]') : value.rawJson
    return `${JSON.stringify(name)}:${kept}`
  })
  return `{${texts}}`
}

const utf8 = new TextDecoder('utf-8', { fatal: true })
export const decodeUtf8 = (bytes: Uint8Array, subject = 'The body'): string =>
  orNull(() => utf8.decode(bytes)) ?? refuse('invalid_json', `${subject} is not UTF-8.`)

export const parseJson = (text: string, subject = 'The body'): unknown => {
  try {
    return JSON.parse(text)
  } catch (error) {
    const [, position] = /at position (\d+)/.exec(String(error)) ?? []
    const where = position === undefined ? '' : ` at position ${position}`
    return refuse('invalid_json', `${subject} is not well-formed JSON${where}.`)
  }
}

export const refuseDeep = (depth: number, subject = 'The body'): void => {
  if (depth > NESTING_MAX) refuse('invalid_json', `${subject} is nested deeper than ${NESTING_MAX} levels.`)
}
