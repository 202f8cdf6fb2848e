import type * as v from 'valibot'
import { scanMembers } from '../../json/is-json.ts'
import { membersNamed, NESTING_MAX } from '../../json/raw-json.ts'
import { checkShape, isKept, namesOfTexts, type RawJson, withTexts } from '../../shapes/json.ts'
import { type Fault, refuse } from './failures.ts'
import { orNull } from './or-null.ts'

const FAULTS_MAX = 20
export const SEE_ERRORS = 'The request is invalid. See `errors`.'

export const refuseFaults = (faults: readonly Fault[], detail: string): never =>
  refuse('invalid_request', detail, { errors: faults.slice(0, FAULTS_MAX) })

/** Parsing a longer text can take many milliseconds, if it has many small values. */
export const LONG_TEXT = 65_536
/** Each takes time, even those that are ignored. */
const MEMBERS_MAX = 5_000

/**
 * Parses a text against a shape; members kept as text keep their exact text. `parsed`: its value, if it was parsed
 * before. Refuses `invalid_json`.
 */
export const parseText = <Shape extends v.GenericSchema>(shape: Shape, text: string, parsed?: unknown) => {
  const isLongObject = text.length > LONG_TEXT && /^\s*\{/.test(text)
  const scanned = isLongObject ? scanMembers(text, MEMBERS_MAX) : null
  return scanned === null ? parseShortText(shape, text, parsed) : parseLongText(shape, text, scanned, parsed)
}

const parseShortText = <Shape extends v.GenericSchema>(shape: Shape, text: string, parsed: unknown) => {
  const checked = checkShape(shape, parsed ?? parseJson(text))
  const kept: readonly string[] = namesOfTexts(checked.output)
  const scanned = membersNamed(text, (name) => kept.includes(name))
  refuseExcess(scanned.count, scanned.depth)
  return bodyOf(checked, scanned)
}

/** Parses the contents of long objects and arrays only if the shape looks into one: most are kept as text. */
const parseLongText = <Shape extends v.GenericSchema>(
  shape: Shape,
  text: string,
  scanned: Scanned,
  parsed: unknown,
) => {
  refuseExcess(scanned.members.size, scanned.depth)
  const members = [...scanned.members]
  const emptied = members.map(([name, value]) => `${JSON.stringify(name)}:${emptiedIfLong(value)}`)
  const short = checkShape(shape, JSON.parse(`{${emptied}}`))
  const isEnough = members.every(([name, value]) => !isEmptied(value) || isKept(short.output, name))
  return bodyOf(isEnough ? short : checkShape(shape, parsed ?? parseJson(text)), scanned)
}

type Scanned = { readonly members: ReadonlyMap<string, RawJson>; readonly depth: number }

const refuseExcess = (members: number, depth: number): void => {
  refuseDeep(depth)
  if (members > MEMBERS_MAX) refuse('invalid_request', `The body has more than ${MEMBERS_MAX} members.`)
}

const bodyOf = <Body>(
  { output, faults }: { readonly output: Body; readonly faults: readonly Fault[] },
  { members }: Scanned,
) => ({ body: faults.length === 0 ? withTexts(output, members) : output, faults })

const isEmptied = ({ rawJson }: RawJson) => rawJson.length > LONG_TEXT && /^[[{]/.test(rawJson)

const emptiedIfLong = (value: RawJson): string => {
  if (!isEmptied(value)) return value.rawJson
  return value.rawJson.startsWith('{') ? '{}' : '[]'
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
