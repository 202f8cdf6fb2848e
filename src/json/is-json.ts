import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  endOfString,
  NESTING_MAX,
  nameIn,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  type RawJson,
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

export const isJson = (text: string): boolean => jsonDepth(text) !== null

/**
 * The nesting depth of a JSON text; null if it is not JSON. One that is nested deeper than `NESTING_MAX` is not read to its
 * end. It builds no values: `JSON.parse` makes many small ones, which take long to collect.
 */
export const jsonDepth = (text: string): number | null => {
  const { end, depth } = scanValue(text, skipBlanks(text, 0))
  return depth > NESTING_MAX || skipBlanks(text, end) === text.length ? depth : null
}

/** The JSON of an object or an array, without blanks around it; null if it is neither, or if nested too deep. */
export const objectOrArrayIn = (body: string): string | null => {
  const begin = skipBlanks(body, 0)
  const isObject = body[begin] === '{'
  if (!isObject && body[begin] !== '[') return null
  const depth = jsonDepth(body)
  if (depth === null || depth + (isObject ? 0 : 1) > NESTING_MAX) return null
  return body.slice(begin, body.lastIndexOf(isObject ? '}' : ']') + 1)
}
/**
 * Like `membersOf`, but returns null if the text is not a JSON object. Stops once there are more than `membersMax` members,
 * or one is nested deeper than `NESTING_MAX`.
 */
export const scanMembers = (text: string, membersMax: number) => {
  const members = new Map<string, RawJson>()
  let depth = 0
  let at = skipBlanks(text, 0)
  if (text.charCodeAt(at) !== OPEN_OBJECT) return null
  at = skipBlanks(text, at + 1)
  let hasNext = text.charCodeAt(at) !== CLOSE_OBJECT
  while (hasNext) {
    const nameEnd = endOfText(text, at)
    const begin = skipColon(text, nameEnd)
    const value = scanValue(text, begin)
    if (value.depth > NESTING_MAX) return { members, depth: value.depth }
    if (value.end === NOWHERE) return null
    const name = nameIn(text.slice(at, nameEnd)) ?? ''
    members.set(name, { rawJson: text.slice(begin, value.end) })
    depth = Math.max(depth, value.depth)
    if (members.size > membersMax) return { members, depth }
    at = skipBlanks(text, value.end)
    hasNext = text.charCodeAt(at) === COMMA
    if (hasNext) at = skipBlanks(text, at + 1)
  }
  const isClosed = text.charCodeAt(at) === CLOSE_OBJECT
  return isClosed && skipBlanks(text, at + 1) === text.length ? { members, depth } : null
}

/** A position after which nothing could be JSON. */
const NOWHERE = Number.MAX_SAFE_INTEGER

/**
 * The end of the value that begins here, and how deep it nests. The end is `NOWHERE` if it is not JSON, or deeper than
 * `NESTING_MAX`: each level takes a hundred times as long as a character of a text, so a body of brackets is left there.
 */
const scanValue = (text: string, begin: number): { end: number; depth: number } => {
  /** The closing bracket of the object or array that the position is in, and those of the ones around it. */
  let closer = 0
  const outerClosers: number[] = []
  let depth = 0
  let at = begin
  for (;;) {
    const plainEnd = skipPlainRun(text, at, closer)
    // The objects skipped here nest one level deeper.
    if (plainEnd > at && text.charCodeAt(at) === OPEN_OBJECT) depth = Math.max(depth, outerClosers.length + 1)
    at = closer === CLOSE_OBJECT ? skipColon(text, endOfText(text, plainEnd)) : plainEnd
    const opened = closerOf(text.charCodeAt(at))
    let end = at
    if (opened === 0) {
      end = endOfPlain(text, at)
      at = skipBlanks(text, end)
    } else {
      outerClosers.push(closer)
      closer = opened
      depth = Math.max(depth, outerClosers.length)
      if (depth > NESTING_MAX) return { end: NOWHERE, depth }
      at = skipBlanks(text, at + 1)
      const isEmpty = text.charCodeAt(at) === closer
      if (!isEmpty) continue
    }
    while (closer !== 0 && text.charCodeAt(at) === closer) {
      closer = outerClosers.pop() ?? 0
      end = at + 1
      at = skipBlanks(text, end)
    }
    if (closer === 0) return { end, depth }
    if (text.charCodeAt(at) !== COMMA) return { end: NOWHERE, depth }
    at = skipBlanks(text, at + 1)
  }
}

/** The end of several plain values or flat objects, each followed by a comma. Stays here if there are fewer than two. */
const skipPlainRun = (text: string, at: number, closer: number): number => {
  if (closer === CLOSE_OBJECT) return endOfRun(text, at, MEMBERS)
  if (closer !== CLOSE_ARRAY) return at
  return endOfRun(text, at, text.charCodeAt(at) === OPEN_OBJECT ? OBJECTS : ELEMENTS)
}
const endOfRun = (text: string, at: number, run: RegExp): number => {
  run.lastIndex = at
  return run.test(text) ? run.lastIndex : at
}

/** The bracket that closes what this character opens; 0 if it opens nothing. */
const closerOf = (char: number): number => {
  if (char === OPEN_OBJECT) return CLOSE_OBJECT
  return char === OPEN_ARRAY ? CLOSE_ARRAY : 0
}

/** The begin of the value after the name that ends here. */
const skipColon = (text: string, nameEnd: number): number => {
  const colon = skipBlanks(text, nameEnd)
  return text.charCodeAt(colon) === COLON ? skipBlanks(text, colon + 1) : NOWHERE
}

const endOfPlain = (text: string, at: number): number =>
  text.charCodeAt(at) === QUOTE ? endOfText(text, at) : endOfScalar(text, at)

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
  const end = endOfDigits(text, at)
  // Nearly all numbers are short and whole.
  if (end > at && text.charCodeAt(end) === COMMA) return end
  SCALAR.lastIndex = at
  return SCALAR.test(text) ? SCALAR.lastIndex : NOWHERE
}
/** The end of a whole number without a sign. A leading zero is the whole number. */
const endOfDigits = (text: string, begin: number): number => {
  if (text.charCodeAt(begin) === ZERO) return begin + 1
  let end = begin
  while (text.charCodeAt(end) >= ZERO && text.charCodeAt(end) <= NINE) end++
  return end
}
