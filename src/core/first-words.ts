const WORDS_MAX = 8
const NAME_CODE_POINTS_MAX = 120
const TEXT_LENGTH_MAX = 4_000

/** The built-in name of a page: the first words of its context, else its group's title and its number there. */
export const firstWords = (
  supplementaryContext: string | null,
  groupTitle: string,
  number: number,
): string => {
  // A long text is not taken apart as a whole to see its beginning.
  const words = (supplementaryContext ?? '')
    .slice(0, TEXT_LENGTH_MAX)
    .split(/\s+/u)
    .filter(Boolean)
    .slice(0, WORDS_MAX)
  return oneLine(words.join(' ')) || `${oneLine(groupTitle)} ${number}`.trim()
}

/** One line of at most 120 characters, without control characters, quotes around it or blanks at its ends. */
export const oneLine = (text: string): string => {
  const line = text
    .slice(0, TEXT_LENGTH_MAX)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .replace(/^(["'`“”„«»]+)(.*?)(["'`“”„«»]+)$/u, '$2')
    .trim()
  return [...line].slice(0, NAME_CODE_POINTS_MAX).join('').replaceAll('\ufffd', '').trim()
}
