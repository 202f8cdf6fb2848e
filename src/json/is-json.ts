import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  endOfString,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  skipBlanks,
} from './raw-json.ts'

const [COMMA, COLON] = [0x2c, 0x3a]

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** Whether a text is JSON. */
export const isJson = (text: string): boolean => jsonDepth(text) !== null

/**
 * How deep a text of JSON nests; null if it is none. It makes nothing of it: what `JSON.parse` makes of many small values
 * takes long to collect.
 */
export const jsonDepth = (text: string): number | null => {
  let depth = 0
  /** The ends of the objects and arrays that the position is in. */
  const open: number[] = []
  let end = 0
  let at = skipBlanks(text, 0)
  for (;;) {
    if (end === CLOSE_OBJECT) {
      at = skipBlanks(text, endOfText(text, at))
      if (text.charCodeAt(at) !== COLON) return null
      at = skipBlanks(text, at + 1)
    }
    const char = text.charCodeAt(at)
    if (char === OPEN_OBJECT || char === OPEN_ARRAY) {
      open.push(end)
      if (open.length > depth) depth = open.length
      end = char === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY
      at = skipBlanks(text, at + 1)
      if (text.charCodeAt(at) !== end) continue
    } else at = skipBlanks(text, char === QUOTE ? endOfText(text, at) : endOfScalar(text, at))
    for (; end !== 0 && text.charCodeAt(at) === end; at = skipBlanks(text, at + 1)) end = open.pop() ?? 0
    if (end === 0) return at === text.length ? depth : null
    if (text.charCodeAt(at) !== COMMA) return null
    at = skipBlanks(text, at + 1)
  }
}

/** Where nothing follows that could be JSON. */
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
  SCALAR.lastIndex = at
  return SCALAR.test(text) ? SCALAR.lastIndex : NOWHERE
}
