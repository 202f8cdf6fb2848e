import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  endOfString,
  endOfValue,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  type RawJson,
  skipBlanks,
} from './raw-json.ts'

/** An object or array that is not closed yet, with its children so far. */
type Open = { readonly members: Map<string, string> | null; name: string | null; elements: string }

const COMMA = 0x2c

/**
 * The one text of all JSON texts with the same value: two texts are equal as JSON if these are equal.
 *
 * Blanks, the order of members, and how characters are escaped make no difference. The last of several members with the
 * same name counts, as in `JSON.parse`. Arrays keep their order. Numbers are compared as they are written, so `1`, `1.0`
 * and `1e0` are three: a number may have more digits than a program can hold, and some programs tell integers from others.
 *
 * The text must be well-formed. Takes time in proportion to its length, apart from sorting names, at any depth.
 */
export const canonicalJson = (text: string): string => {
  const stack: Open[] = []
  let at = skipBlanks(text, 0)
  while (at < text.length) {
    const parent = stack.at(-1)
    const char = text.charCodeAt(at)
    if (char === COMMA) {
      at = skipBlanks(text, at + 1)
      continue
    }
    if (char === OPEN_OBJECT || char === OPEN_ARRAY) {
      stack.push({ members: char === OPEN_OBJECT ? new Map() : null, name: null, elements: '' })
      at = skipBlanks(text, at + 1)
      continue
    }
    const isEnd = char === CLOSE_OBJECT || char === CLOSE_ARRAY
    const end = isEnd ? at + 1 : char === QUOTE ? endOfString(text, at) : endOfValue(text, at).end
    const value = isEnd ? closed(stack.pop()) : scalar(text.slice(at, end))
    at = skipBlanks(text, end)
    const owner = isEnd ? stack.at(-1) : parent
    if (owner === undefined) return value
    if (owner.members === null) owner.elements += `${owner.elements && ','}${value}`
    else if (owner.name !== null) {
      owner.members.set(owner.name, value)
      owner.name = null
    } else {
      owner.name = value
      // After the colon.
      at = skipBlanks(text, at + 1)
    }
  }
  throw new SyntaxError('The JSON text ends early.')
}

/** A JSON text with the same value, written as `canonicalJson` does. */
export const canonical = ({ rawJson }: RawJson): RawJson => ({ rawJson: canonicalJson(rawJson) })

const scalar = (text: string): string =>
  text.startsWith('"') && text.includes('\\') ? JSON.stringify(JSON.parse(text)) : text

/** Texts are only added to each other, which copies nothing, so that depth costs nothing. */
const closed = (open: Open | undefined): string => {
  if (open === undefined) throw new SyntaxError('The JSON text has a bracket too many.')
  if (open.members === null) return `[${open.elements}]`
  let text = ''
  for (const name of [...open.members.keys()].sort())
    text += `${text && ','}${name}:${open.members.get(name)}`
  return `{${text}}`
}
