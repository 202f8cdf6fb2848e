import { endOfString, endOfValue, nameIn, skipBlanks } from './raw-json.ts'

/**
 * A JSON object in two parts: the exact texts of the elements of the last array under a name, and the object with that
 * array empty. It is for a text that may be long and is not parsed yet: the text is well-formed if and only if its parts
 * are. Null if it cannot be, or if it has more than `max` members. `elements` is null without such an array, and ends
 * after `max` and one.
 */
export const splitAt = (text: string, name: string, max: number) => {
  let found: ReturnType<typeof elementsFrom> = null
  let at = skipBlanks(text, 0)
  if (text[at] !== '{') return { elements: null, rest: text[at] === '[' ? '[]' : text }
  at = skipBlanks(text, at + 1)
  for (let members = 1; text[at] === '"'; members++) {
    const nameEnd = endOfString(text, at)
    const isNamed = nameIn(text.slice(at, nameEnd)) === name
    at = skipBlanks(text, nameEnd)
    if (text[at] !== ':' || members > max) return null
    at = skipBlanks(text, at + 1)
    const isArray = isNamed && text[at] === '['
    if (isNamed) found = isArray ? elementsFrom(text, at, max) : null
    if (isArray && found === null) return null
    if (isArray && found && found.elements.length > max) return { ...found, rest: '{}' }
    at = skipBlanks(text, isArray && found ? found.end : endOfValue(text, at).end)
    if (text[at] !== ',') break
    at = skipBlanks(text, at + 1)
  }
  if (found === null) return { elements: null, rest: text }
  return { elements: found.elements, rest: `${text.slice(0, found.begin)}[]${text.slice(found.end)}` }
}

/** The elements of the array that begins here, at most `max` and one, and where it ends; null if they are not separated by commas. */
export const elementsFrom = (text: string, begin: number, max: number) => {
  const elements: string[] = []
  let at = skipBlanks(text, begin + 1)
  if (text[at] === ']') return { elements, begin, end: at + 1 }
  for (;;) {
    const { end } = endOfValue(text, at)
    elements.push(text.slice(at, end))
    at = skipBlanks(text, end)
    if (text[at] === ']' || elements.length > max) return { elements, begin, end: at + 1 }
    if (text[at] !== ',') return null
    at = skipBlanks(text, at + 1)
  }
}
