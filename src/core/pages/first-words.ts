const WORDS_MAX = 8
const NAME_CODE_POINTS_MAX = 120
const TEXT_LENGTH_MAX = 4_000

/** The first words of a page's context: its built-in name, unless there are none. */
export const firstWords = (context: string | null): string => {
  if (context === null) return ''
  // Only the beginning of a long text is split.
  const words = context
    .slice(0, TEXT_LENGTH_MAX)
    .split(/\s+/u, WORDS_MAX + 1)
    .filter(Boolean)
  return oneLine(words.slice(0, WORDS_MAX).join(' '))
}
/** The built-in name of a page without words: the title of its group and its number there, if known. */
export const nameInGroup = (groupTitle: string, number: number | null): string =>
  numberedName(oneLine(groupTitle), number) || 'Page'
/** A name that was made of the title of a group, with the number of the page there. PostgreSQL writes it in SQL. */
export const numberedName = (title: string, number: number | null): string =>
  `${title} ${number ?? ''}`.trim()

/** One line of at most 120 characters, without control characters, surrounding quotes or blanks at either end. */
export const oneLine = (text: string): string => {
  const line = withoutQuotes(PLAIN.test(text) ? text : cleaned(text)).trim()
  // Most lines are shorter, and need not be split.
  if (line.length <= NAME_CODE_POINTS_MAX && !line.includes(LONE)) return line
  return [...line].slice(0, NAME_CODE_POINTS_MAX).join('').replaceAll(LONE, '').trim()
}

const PLAIN = /^[!-~]{1,40}(?: [!-~]{1,40}){0,40}$/
const cleaned = (text: string) =>
  text
    .slice(0, TEXT_LENGTH_MAX)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
/** The replacement character that `toWellFormed` writes. */
const LONE = '\ufffd'
const QUOTES = '"\'`“”„«»'

/** Strips quotes if both ends have them. No regular expression: it would take cubic time on a run of quotes. */
const withoutQuotes = (line: string): string => {
  let begin = 0
  let end = line.length
  while (begin < end && QUOTES.includes(line.charAt(begin))) begin++
  while (end > begin && QUOTES.includes(line.charAt(end - 1))) end--
  if (begin === end) return line.length > 1 ? '' : line
  return begin > 0 && end < line.length ? line.slice(begin, end) : line
}
