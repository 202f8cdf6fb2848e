import type { RawJson } from '../shapes/json.ts'

/** How deep a value that is kept as text may nest. */
export const NESTING_MAX = 512

/**
 * The members of a JSON object, each value as its exact text, and how deep the deepest of them nests.
 * Of members with the same name the last one counts, as in `JSON.parse`.
 * The text must be well-formed JSON: this does not check it again.
 */
export const membersOf = (text: string): { members: ReadonlyMap<string, RawJson>; depth: number } => {
  const members = new Map<string, RawJson>()
  let depth = 0
  let at = skipBlanks(text, 0)
  if (text[at] !== '{') return { members, depth }
  for (at = skipBlanks(text, at + 1); text[at] !== '}'; at = skipBlanks(text, at)) {
    if (text[at] === ',') at = skipBlanks(text, at + 1)
    const nameEnd = endOfString(text, at)
    const begin = skipBlanks(text, text.indexOf(':', nameEnd) + 1)
    const value = endOfValue(text, begin)
    const name = text.slice(at + 1, nameEnd - 1)
    // An escaped name is the same name: {"pay\u006coad": …}
    const unescaped = name.includes('\\') ? JSON.parse(`"${name}"`) : name
    members.set(unescaped, { rawJson: text.slice(begin, value.end) })
    depth = Math.max(depth, value.depth)
    at = value.end
  }
  return { members, depth }
}

/** The exact text of each element of a JSON array. The text must be well-formed JSON. */
export const elementsOf = (text: string): readonly string[] => {
  const elements: string[] = []
  for (let at = skipBlanks(text, text.indexOf('[') + 1); text[at] !== ']'; at = skipBlanks(text, at)) {
    if (text[at] === ',') at = skipBlanks(text, at + 1)
    const { end } = endOfValue(text, at)
    elements.push(text.slice(at, end))
    at = end
  }
  return elements
}

// Character codes: comparing them allocates no string.
const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]

const skipBlanks = (text: string, from: number): number => {
  let at = from
  while (text.charCodeAt(at) <= 0x20) at++
  return at
}

const endOfString = (text: string, begin: number): number => {
  for (let quote = text.indexOf('"', begin + 1); ; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote + 1
  }
}

const endOfValue = (text: string, begin: number): { end: number; depth: number } => {
  let open = 0
  let depth = 0
  let at = begin
  do {
    const char = text.charCodeAt(at)
    if (char === QUOTE) {
      at = endOfString(text, at)
      continue
    }
    if (char === OPEN_OBJECT || char === OPEN_ARRAY) depth = Math.max(depth, ++open)
    else if (char === CLOSE_OBJECT || char === CLOSE_ARRAY) open--
    else if (open === 0) return { end: endOfScalar(text, at), depth }
    at++
  } while (open > 0)
  return { end: at, depth }
}

const endOfScalar = (text: string, begin: number): number => {
  let at = begin
  while (at < text.length && !',}] \n\r\t'.includes(text[at] as string)) at++
  return at
}
