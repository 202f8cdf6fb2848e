// Places of a hook and columns of a CSV file are written as pointers, headers, constants, or sums of these.

/** Maximum parts of a sum. */
export const PARTS_MAX = 10

/** The parts of a sum such as `/first + /last`; else the place alone. */
export const partsOf = (place: string): string[] => place.split(/ \+ (?=[/=]|header:)/)

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

/** Words that programs and spreadsheets send instead of nothing: in lower case, without blanks and underscores. */
const NOTHING = new Set([
  'null',
  'undefined',
  'none',
  'nil',
  'nan',
  'n/a',
  'n.a',
  '#n/a',
  '\\n',
  'notset',
  'notprovided',
  'notavailable',
  'notapplicable',
  'objectobject',
  'invaliddate',
])
const LEFTOVER_LENGTH_MAX = 255
const NEGLIGIBLE = /[\s_\p{Default_Ignorable_Code_Point}]/gu
const AROUND_WORD = /^["'`(<]+|["'`)>.,;]+$/g
/** Texts other than words that remain of a missing value. */
const LEFTOVERS = [
  /^[\p{P}\p{Sm}\p{Sc}\p{Sk}0]*$/u, // punctuation and zeros alone
  /\{\{.*\}\}|[$#]\{.*\}|<%.*%>|\*\|.*\|\*/, // a variable of a template
  /^%.*%$|^\[.*\]$|^<<.*>>$|^\(.*\)$|^\$[a-z.]+$|^%[a-z@]$/, // a text that is wholly such a variable
  /^\{(?:\D*|\d)\}$/, // the same in single braces; a GUID has more than one digit
  /\[object/, // an object of JavaScript, written as text
  /^#[a-z\d/]+[!?]$/, // an error of a spreadsheet
]
const LEFTOVER = new RegExp(LEFTOVERS.map(({ source }) => source).join('|'), 'su')

/** Whether a text is what remains of a missing value, ignoring case, and blanks, quotes and brackets in it or around it. */
export const isLeftover = (text: string, isWord = (word: string) => NOTHING.has(word)): boolean => {
  const bare = text.toLowerCase().replace(NEGLIGIBLE, '')
  // Some of these patterns take quadratic time.
  const isShort = bare.length <= LEFTOVER_LENGTH_MAX
  return isShort && (LEFTOVER.test(bare) || isWord(bare.replace(AROUND_WORD, '')))
}
