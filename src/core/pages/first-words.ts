const WORDS_MAX = 8
const NAME_CODE_POINTS_MAX = 120
const TEXT_LENGTH_MAX = 4_000

/** The built-in name of a page: the first words of its context, else the title of its group and its number there, if known. */
export const firstWords = (context: string | null, groupTitle: string, number: number | null): string => {
  // Only the beginning of a long text is split.
  const words = (context ?? '').slice(0, TEXT_LENGTH_MAX).split(/\s+/u).filter(Boolean).slice(0, WORDS_MAX)
  return oneLine(words.join(' ')) || `${oneLine(groupTitle)} ${number ?? ''}`.trim() || 'Page'
}

/** One line of at most 120 characters, without control characters, surrounding quotes or blanks at either end. */
export const oneLine = (text: string): string => {
  const clean = text
    .slice(0, TEXT_LENGTH_MAX)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
  const line = withoutQuotes(clean).trim()
  return [...line].slice(0, NAME_CODE_POINTS_MAX).join('').replaceAll('\ufffd', '').trim()
}

const QUOTES = '"\'`“”„«»'

/** Strips quotes if both ends have them. No regular expression: it would take cubic time on a run of quotes. */
const withoutQuotes = (line: string): string => {
  const characters = [...line]
  const isText = (character: string) => !QUOTES.includes(character)
  const begin = characters.findIndex(isText)
  const end = characters.findLastIndex(isText) + 1
  if (begin < 0) return line.length > 1 ? '' : line
  return begin > 0 && end < characters.length ? characters.slice(begin, end).join('') : line
}
