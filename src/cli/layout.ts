// Text in columns: how wide it is on a terminal, broken into lines, and free of what would steer the terminal.

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' })
/** Takes two columns: East Asian wide letters and forms, and what is drawn as an emoji. */
const WIDE =
  /^(?:[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2fb}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f)/u
/** Takes none: marks that sit on a letter, and what only joins others. */
const WITHOUT_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/

/** Columns that a text takes on a terminal. It must be free of control characters: see `harmless`. */
export const widthOf = (text: string): number => {
  if (PRINTABLE_ASCII.test(text)) return text.length
  let width = 0
  for (const { segment } of GRAPHEMES.segment(text)) width += widthOfOne(segment)
  return width
}

const widthOfOne = (grapheme: string): number =>
  WITHOUT_WIDTH.test(grapheme) ? 0 : WIDE.test(grapheme) ? 2 : 1

export const padded = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - widthOf(text)))

/** What moves the cursor, colours or turns the direction of writing, written as its code: a name may hold anything. */
export const harmless = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** An id or a key is kept whole, wherever it stands: it is there to be copied. */
const WHOLE_MAX = 40

/** Lines of at most `width` columns, broken at blanks; a word that is longer is cut, unless it may be an id. */
export const wrapped = (text: string, width: number): string[] => {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (widthOf(longer) <= width) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    const pieces = cut(word, width)
    line = pieces.pop() ?? ''
    lines.push(...pieces)
  }
  return [...lines, line]
}

const cut = (word: string, width: number): string[] => {
  if (mayBeId(word)) return [word]
  const pieces: string[] = []
  let piece = ''
  let used = 0
  for (const { segment } of GRAPHEMES.segment(word)) {
    const more = widthOfOne(segment)
    if (used + more > width && piece !== '') {
      pieces.push(piece)
      piece = ''
      used = 0
    }
    piece += segment
    used += more
  }
  return [...pieces, piece]
}

const mayBeId = (word: string): boolean => word.length <= WHOLE_MAX && PRINTABLE_ASCII.test(word)

/** Where less is left for the right sides than this, or than an id among them takes, they stand below the left ones. */
const RIGHT_WIDTH_MIN = 24
const GAP = 2

type Pair = readonly [left: string, right: string]
type PairsLook = {
  readonly width: number
  readonly indent?: number
  readonly paintLeft?: (text: string) => string
}

/** Lines with two sides: the left ones padded to one width, the right ones wrapped beside them, or below. */
export const inPairs = (
  pairs: readonly Pair[],
  { width, indent = 0, paintLeft = (text) => text }: PairsLook,
): string => {
  const leftWidth = Math.max(0, ...pairs.map(([left]) => widthOf(left)))
  const rightAt = indent + leftWidth + GAP
  const margin = ' '.repeat(indent)
  const words = pairs.flatMap(([, right]) => right.split(/\s/)).filter(mayBeId)
  const rightMin = words.reduce((widest, word) => Math.max(widest, word.length), RIGHT_WIDTH_MIN)
  const isBeside = width - rightAt >= rightMin
  const lines = pairs.flatMap(([left, right]) => {
    if (!isBeside) {
      const below = wrapped(right, Math.max(1, width - indent - GAP))
      return [margin + paintLeft(left), ...below.map((line) => margin + ' '.repeat(GAP) + line)]
    }
    const [first = '', ...rest] = right.split('\n').flatMap((part) => wrapped(part, width - rightAt))
    const head = margin + paintLeft(padded(left, leftWidth)) + ' '.repeat(GAP) + first
    return [head.trimEnd(), ...rest.map((line) => ' '.repeat(rightAt) + line)]
  })
  return lines.map((line) => `${line}\n`).join('')
}
