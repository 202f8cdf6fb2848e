import { isLeftover } from './leftovers.ts'

// Places of a hook and columns of a CSV file are written as pointers, headers, parameters of a query, constants, or sums of these.

/** Maximum parts of a sum. */
export const PARTS_MAX = 10

/** The parts of a sum such as `/first + /last`; else the place alone. */
export const partsOf = (place: string): string[] => place.split(/ \+ (?=[/=]|header:|query:)/)

/** The text of a place: the texts of its parts, joined by blanks. Undefined if no part but constants has one. */
export const textAt = (
  parts: readonly string[],
  read: (part: string) => string | undefined,
): string | undefined => {
  const [only = ''] = parts
  if (parts.length === 1) return only.startsWith('=') ? only.slice(1) : read(only)
  const texts = parts.map((part) => {
    const text = (part.startsWith('=') ? part.slice(1) : read(part))?.trim()
    return text !== undefined && !isLeftover(text) ? text : undefined
  })
  const isFound = texts.some((text, i) => text !== undefined && !parts[i]?.startsWith('='))
  return isFound ? texts.filter((text) => text !== undefined).join(' ') : undefined
}
