/**
 * A JSON value kept as its exact text, so that no digit and no member is lost. The text must be well-formed JSON: it is
 * returned unchanged and not checked again.
 */
export type RawJson = { readonly rawJson: string }

/** Maximum nesting depth of a value that is kept as text. */
export const NESTING_MAX = 512

/**
 * The members of a JSON object, each value as its exact text, and how deep the deepest of them nests. The last of
 * several members with the same name counts, as in `JSON.parse`. The text must be well-formed JSON: this does not check
 * it again.
 */
export const membersOf = (text: string): { members: ReadonlyMap<string, RawJson>; depth: number } => {
  const { members, depth } = membersNamed(text, () => true)
  return { members, depth }
}

/** The same for members with certain names. `count` is that of all members. */
export const membersNamed = (text: string, isWanted: (name: string) => boolean) => {
  const members = new Map<string, RawJson>()
  let count = 0
  let depth = 0
  const at = skipBlanks(text, 0)
  if (text[at] === '{')
    eachChild(text, at, (name, begin) => {
      const value = endOfValue(text, begin)
      if (isWanted(name)) members.set(name, { rawJson: text.slice(begin, value.end) })
      count++
      depth = Math.max(depth, value.depth)
      return value.end
    })
  return { members, count, depth }
}

/**
 * Visits the members of the object that begins here by their names, or the elements of the array by their indexes. `visit`
 * returns the end of a child; the result is the end of the object or array. The text must be well-formed; one that ends
 * early throws.
 */
export const eachChild = (
  text: string,
  at: number,
  visit: (name: string, begin: number) => number,
): number => {
  const isObject = text[at] === '{'
  if (!isObject && text[at] !== '[') return endOfValue(text, at).end
  let next = skipBlanks(text, at + 1)
  for (let i = 0; text[next] !== (isObject ? '}' : ']'); i++) {
    if (text[next] === ',') next = skipBlanks(text, next + 1)
    if (next >= text.length) throw endsEarly()
    const nameEnd = isObject ? endOfString(text, next) : next
    const name = isObject ? (nameIn(text.slice(next, nameEnd)) ?? '') : String(i)
    const begin = isObject ? skipBlanks(text, colonAfter(text, nameEnd) + 1) : next
    next = skipBlanks(text, visit(name, begin))
  }
  return next + 1
}

const colonAfter = (text: string, nameEnd: number): number => {
  const colon = text.indexOf(':', nameEnd)
  if (colon < 0) throw endsEarly()
  return colon
}
const endsEarly = () => new SyntaxError('The JSON text ends early.')

/** The text of a quoted string, such as the name of a member, which may be escaped: {"pay\u006coad": …} */
export const nameIn = (quoted: string): string | null => {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return JSON.parse(quoted)
  } catch {
    return null
  }
}

// Character codes: comparing them allocates no string.
const BACKSLASH = 0x5c
export const QUOTE = 0x22
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d
export const OPEN_ARRAY = 0x5b
export const CLOSE_ARRAY = 0x5d

export const skipBlanks = (text: string, from: number): number => {
  let at = from
  for (let char = text.charCodeAt(at); char === 32 || char === 10 || char === 13 || char === 9; )
    char = text.charCodeAt(++at)
  return at
}

/** The end of the string that begins here, or of the whole text if the string is not closed. */
export const endOfString = (text: string, begin: number): number => {
  for (let quote = text.indexOf('"', begin + 1); quote > 0; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return quote + 1
  }
  return text.length
}

/** The end of the value that begins here, and how deep its objects and arrays nest. The text must be well-formed. */
export const endOfValue = (text: string, begin: number): { end: number; depth: number } => {
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
  } while (open > 0 && at < text.length)
  return { end: at, depth }
}

const endOfScalar = (text: string, begin: number): number => {
  let at = begin
  while (at < text.length && !',}] \n\r\t'.includes(text[at] as string)) at++
  return at
}
