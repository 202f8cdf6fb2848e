import { endOfString, endOfValue, nameIn, skipBlanks } from './raw-json.ts'

/**
 * Splits a JSON object in two: the exact texts of the elements of the last array under a name, and the object with that
 * array empty. For a text that may be long and is not parsed yet: it is well-formed if and only if its parts are. Returns
 * null if it cannot be well-formed, or if it has more than `max` members. `elements` is null without such an array, and
 * ends after `max` and one.
 */
export const splitAt = (text: string, name: string, max: number) => {
  let array: ReturnType<typeof elementsFrom> = null
  let at = skipBlanks(text, 0)
  if (text[at] !== '{') return { elements: null, rest: text[at] === '[' ? '[]' : text }
  at = skipBlanks(text, at + 1)
  for (let members = 1; text[at] === '"'; members++) {
    const nameEnd = endOfString(text, at)
    const isNamed = nameIn(text.slice(at, nameEnd)) === name
    at = skipBlanks(text, nameEnd)
    if (text[at] !== ':' || members > max) return null
    at = skipBlanks(text, at + 1)
    // The last of several members with the same name counts.
    if (isNamed) array = null
    if (isNamed && text[at] === '[') {
      array = elementsFrom(text, at, max)
      if (array === null) return null
      if (array.elements.length > max) return { elements: array.elements, rest: '{}' }
    }
    at = skipBlanks(text, isNamed && array !== null ? array.end : endOfValue(text, at).end)
    if (text[at] !== ',') break
    at = skipBlanks(text, at + 1)
  }
  if (array === null) return { elements: null, rest: text }
  const { elements, begin, end } = array
  return { elements, rest: `${text.slice(0, begin)}[]${text.slice(end)}` }
}

/** The array that begins here, with at most `max` and one of its elements; null if they are not separated by commas. */
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
