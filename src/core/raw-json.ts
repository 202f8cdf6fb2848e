import type { RawJson } from '../shapes/json.ts'

/** How deep a value that we keep as text may nest. */
export const NESTING_MAX = 512

/**
 * The members of a JSON object, each value as its exact text, and how deep the deepest of them nests.
 * Of members with the same name the last one counts, as in `JSON.parse`.
 * The text must be known to be well-formed JSON: this looks only as closely as it must.
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
    // An escaped name is the same name: {"pay\u006coad": …}
    members.set(JSON.parse(text.slice(at, nameEnd)), { rawJson: text.slice(begin, value.end) })
    depth = Math.max(depth, value.depth)
    at = value.end
  }
  return { members, depth }
}

// The codes of characters: a look at one of them makes no text.
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

/**
 * One text for all spellings of one JSON value: members in order of name, no blanks, strings escaped one way,
 * numbers as exact decimals (`1`, `1.0` and `10e-1` are one number; 9007199254740993 and …992 are two).
 */
export const canonicalJson = ({ rawJson }: RawJson): string =>
  // Children come before their parents, so each value is already text when the one around it is written.
  parseWithSource(rawJson, (value, source) => {
    if (typeof value === 'number') return canonicalNumeral(source)
    if (typeof value !== 'object' || value === null) return JSON.stringify(value)
    let text = ''
    if (Array.isArray(value)) {
      for (const element of value) text += `${text && ','}${element}`
      return `[${text}]`
    }
    const members = value as Record<string, string>
    for (const name of Object.keys(members).sort())
      text += `${text && ','}${JSON.stringify(name)}:${members[name]}`
    return `{${text}}`
  })

// TypeScript's own types do not know the third argument of a reviver yet; Node has had it since 21.
const parseWithSource = (text: string, revive: (value: unknown, source: string) => string): string =>
  JSON.parse(text, ((_name: string, value: unknown, context: { source: string }) =>
    revive(value, context.source)) as (name: string, value: unknown) => string)

const canonicalNumeral = (numeral: string): string => {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE](.+))?$/.exec(
    numeral,
  ) as unknown as [string, string, string, string?, string?]
  const digits = (whole + fraction).replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end-- // a pattern such as /0+$/ takes quadratic time on long runs of zeros
  const significant = digits.slice(0, end)
  if (significant === '') return '0'
  // No double has so many digits in its exponent; such numerals are only equal when spelled alike.
  if (exponent.length > 15) return numeral
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - end}`
}
