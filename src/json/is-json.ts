import { endOfString, skipBlanks } from './raw-json.ts'

const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** Whether a text is JSON. It makes nothing of it: what `JSON.parse` makes of many small values takes long to collect. */
export const isJson = (text: string): boolean => {
  /** The ends of the objects and arrays that the position is in. */
  const open: string[] = []
  let at = skipBlanks(text, 0)
  for (;;) {
    if (open.at(-1) === '}') {
      at = skipBlanks(text, endOfText(text, at))
      if (text[at] !== ':') return false
      at = skipBlanks(text, at + 1)
    }
    const end = text[at] === '{' ? '}' : text[at] === '[' ? ']' : null
    if (end === null) at = text[at] === '"' ? endOfText(text, at) : endOfScalar(text, at)
    else {
      at = skipBlanks(text, at + 1)
      open.push(end)
      if (text[at] !== end) continue
    }
    for (
      at = skipBlanks(text, at);
      open.length > 0 && text[at] === open.at(-1);
      at = skipBlanks(text, at + 1)
    )
      open.pop()
    if (open.length === 0) return at === text.length
    if (text[at] !== ',') return false
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
