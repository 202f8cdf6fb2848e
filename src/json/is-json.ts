import type { RawJson } from '../shapes/json.ts'
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  endOfString,
  nameIn,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  skipBlanks,
} from './raw-json.ts'

const COMMA = 0x2c
const COLON = 0x3a
const ZERO = 0x30
const NINE = 0x39

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

const BLANKS = String.raw`[ \n\r\t]*`
const TEXT = String.raw`"[^"\\\u0000-\u001f]*"`
const PLAIN = String.raw`(?:${TEXT}|-?(?:0|[1-9]\d*)(?:\.\d+)?|true|false|null)${BLANKS}`
const MEMBER = `${TEXT}${BLANKS}:${BLANKS}${PLAIN}`
/** An object of up to 50 plain values, such as an array often has thousands of. */
const FLAT = String.raw`\{${BLANKS}(?:${MEMBER}(?:,${BLANKS}${MEMBER}){0,49})?\}${BLANKS}`
/** Elements of an array, and members of an object, that are plain values: many at once, which is much faster. */
const ELEMENTS = new RegExp(`(?:${PLAIN},${BLANKS}){2,500}`, 'y')
const OBJECTS = new RegExp(`(?:${FLAT},${BLANKS}){2,500}`, 'y')
const MEMBERS = new RegExp(`(?:${MEMBER},${BLANKS}){2,500}`, 'y')
const afterPlain = (text: string, at: number, run: RegExp): number => {
  run.lastIndex = at
  return run.test(text) ? run.lastIndex : at
}

export const isJson = (text: string): boolean => jsonDepth(text) !== null

/**
 * The nesting depth of a JSON text; null if it is not JSON. It builds no values: `JSON.parse` makes many small ones,
 * which take long to collect. Members of an object are added to `members`; one more than `membersMax` ends the scan.
 */
export const jsonDepth = (
  text: string,
  members?: Map<string, RawJson>,
  membersMax = Infinity,
): number | null => {
  let depth = 0
  /** The ends of the objects and arrays that the position is in. */
  const open: number[] = []
  let end = 0
  let at = skipBlanks(text, 0)
  /** The member of the whole object that the position is in, or that ends before it. */
  let [name, begin, last] = ['', 0, 0]
  const addMember = () => {
    if (name !== '') members?.set(nameIn(name) ?? '', { rawJson: text.slice(begin, last) })
    name = ''
  }
  for (;;) {
    if (end === CLOSE_ARRAY && text.charCodeAt(at) === OPEN_OBJECT) {
      const flatEnd = afterPlain(text, at, OBJECTS)
      if (flatEnd > at && open.length === depth) depth++
      at = flatEnd
    } else if (end === CLOSE_ARRAY) at = afterPlain(text, at, ELEMENTS)
    else if (open.length > 1) at = afterPlain(text, at, MEMBERS)
    if (end === CLOSE_OBJECT) {
      const nameEnd = endOfText(text, at)
      if (open.length === 1) name = text.slice(at, nameEnd)
      at = skipBlanks(text, nameEnd)
      if (text.charCodeAt(at) !== COLON) return null
      at = skipBlanks(text, at + 1)
      if (open.length === 1) begin = at
    }
    const char = text.charCodeAt(at)
    if (char === OPEN_OBJECT || char === OPEN_ARRAY) {
      open.push(end)
      if (open.length > depth) depth = open.length
      end = char === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY
      at = skipBlanks(text, at + 1)
      if (text.charCodeAt(at) !== end) continue
    } else {
      last = char === QUOTE ? endOfText(text, at) : endOfScalar(text, at)
      at = skipBlanks(text, last)
    }
    for (; end !== 0 && text.charCodeAt(at) === end; at = skipBlanks(text, last)) {
      if (open.length === 1) addMember()
      last = at + 1
      end = open.pop() ?? 0
    }
    if (open.length === 1) addMember()
    if (members !== undefined && members.size > membersMax) return depth
    if (end === 0) return at === text.length ? depth : null
    if (text.charCodeAt(at) !== COMMA) return null
    at = skipBlanks(text, at + 1)
  }
}

/** The same as `membersOf`, for a text that may not be JSON: then null. The scan ends with one member too many. */
export const scanMembers = (text: string, membersMax: number) => {
  const members = new Map<string, RawJson>()
  const depth = jsonDepth(text, members, membersMax)
  return depth === null ? null : { members, depth: depth - 1 }
}

/** A position after which nothing could be JSON. */
const NOWHERE = Number.MAX_SAFE_INTEGER
const endOfText = (text: string, at: number): number => {
  if (text[at] !== '"') return NOWHERE
  const end = endOfString(text, at)
  const quoted = text.slice(at, end)
  const isPlain = !quoted.includes('\\') && quoted.length > 1 && quoted.endsWith('"') && !CONTROL.test(quoted)
  return isPlain || isParsed(quoted) ? end : NOWHERE
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows none in a text.
const CONTROL = /[\u0000-\u001f]/
const isParsed = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
const endOfScalar = (text: string, at: number): number => {
  // Nearly all numbers are short and whole.
  let end = at
  let char = text.charCodeAt(end)
  if (char === ZERO) char = text.charCodeAt(++end)
  else while (char >= ZERO && char <= NINE) char = text.charCodeAt(++end)
  if (char === COMMA && end > at) return end
  SCALAR.lastIndex = at
  return SCALAR.test(text) ? SCALAR.lastIndex : NOWHERE
}
