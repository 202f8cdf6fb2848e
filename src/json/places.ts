/** How the places of a hook and the columns of a CSV file are written: pointers, headers, constants and sums of them. */

/** A sum has at most so many parts. */
export const PARTS_MAX = 10

/** The parts of a sum such as `/first + /last`; else the place alone. */
export const partsOf = (place: string): string[] => place.split(/ \+ (?=[/=]|header:)/)

/** The text of a place: its parts that lead to one, joined by blanks. Undefined if none does, constants aside. */
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

/** Words that programs and spreadsheets send for nothing: in lower case, without blanks and underscores. */
const NOTHING = new Set(
  'null undefined none nil nan n/a n.a #n/a \\n notset notprovided notavailable notapplicable objectobject invaliddate'.split(
    ' ',
  ),
)
const LEFTOVER_LENGTH_MAX = 255
const NEGLIGIBLE = /[\s_\p{Default_Ignorable_Code_Point}]/gu
const AROUND_WORD = /^["'`(<]+|["'`)>.,;]+$/g
/** Punctuation and zeros alone, a variable of a template, or the error of a spreadsheet. In single braces it has no digit, so that a GUID is none. */
const BLANK_OR_VARIABLE =
  /^[\p{P}\p{Sm}\p{Sc}\p{Sk}0]*$|\{\{.*\}\}|[$#]\{.*\}|<%.*%>|\*\|.*\|\*|\[object|^%.*%$|^\[.*\]$|^<<.*>>$|^\{(?:\D*|\d)\}$|^\(.*\)$|^\$[a-z.]+$|^%[a-z@]$|^#[a-z\d/]+[!?]$/su

/** Whether a text is what is left of a missing value, whatever its case and the blanks, quotes and brackets in it or around it. */
export const isLeftover = (text: string, isWord = (word: string) => NOTHING.has(word)): boolean => {
  const bare = text.toLowerCase().replace(NEGLIGIBLE, '')
  // Some of it takes quadratic time.
  const isShort = bare.length <= LEFTOVER_LENGTH_MAX
  return isShort && (BLANK_OR_VARIABLE.test(bare) || isWord(bare.replace(AROUND_WORD, '')))
}
