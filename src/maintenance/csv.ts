import { refuse } from '../core/engine/failures.ts'
import { memoized } from '../core/engine/memoized.ts'
import { type Line, linesOf } from './lines.ts'

const QUOTE = 0x22
const NEWLINE = 0x0a
/** Delimiters of fields, the likeliest first. */
export const DELIMITERS = [',', ';', '\t', '|']

/** How the columns of a file are read if its header does not say so. */
export type CsvColumns = {
  /** The column of each member, `First Name + Last Name` for several, or `=text` for the same text in all rows. */
  readonly columns?: Readonly<Record<string, string>>
  /** Whether columns that belong to no member are ignored. */
  readonly ignoresOthers?: boolean
  /** The line of the header, if it is not the first one. The lines before it are skipped. */
  readonly headerLine?: number
}

/**
 * Yields the records of CSV (RFC 4180) as lines. A record can have several lines, because within quotes a line end is part
 * of a field; its number is that of the first. Other delimiters may be set between two records. Before `firstLine` a quote is a
 * character like others. Refuses `invalid_request` at a quote that is not closed, because nothing shows where the next record
 * begins.
 */
export async function* csvLinesOf(
  chunks: AsyncIterable<Buffer>,
  bytesMax: number,
  dialect = { delimiters: ',' },
  firstLine = 1,
): AsyncGenerator<Line> {
  let state: FieldState = 'start'
  let line = 1
  /** The line in which the last quoted field begins. */
  let openedIn = 1
  let length = 0
  const refuseIfOpen = () => {
    if (state === 'quoted')
      refuse('invalid_request', `The quote that opens in line ${openedIn} is not closed.`)
  }
  const readPart = (bytes: Buffer): void => {
    const delimiters = [...Buffer.from(dialect.delimiters)]
    for (const byte of bytes) {
      const next = stateAfter(state, byte, delimiters)
      if (state === 'start' && next === 'quoted') openedIn = line
      state = next
    }
    length += bytes.length
  }
  /** Reads the bytes up to a line end. Returns whether that is part of a field. */
  const isLineEndInside = (bytes: Buffer): boolean => {
    if (line >= firstLine) readPart(bytes)
    if (bytes.at(-1) !== NEWLINE) return false
    line++
    if (length > bytesMax) refuseIfOpen()
    if (state !== 'quoted') length = 0
    return state === 'quoted'
  }
  for await (const record of linesOf(chunks, bytesMax, isLineEndInside)) {
    refuseIfOpen()
    yield record
  }
}

/** Where a byte is: at the start of a field, in a plain field, in a quoted one, or after the quote that may end it. */
type FieldState = 'start' | 'plain' | 'quoted' | 'closed'

/** A quote opens a field only at its start. A second quote after the one that ends a field continues the field. */
const stateAfter = (state: FieldState, byte: number, delimiters: readonly number[]): FieldState => {
  if (state === 'quoted') return byte === QUOTE ? 'closed' : 'quoted'
  if (byte === QUOTE && state !== 'plain') return 'quoted'
  return byte === NEWLINE || delimiters.includes(byte) ? 'start' : 'plain'
}

/** One field and the delimiter, or the end, after it. */
const fieldUpTo = memoized((delimiter: string) => {
  const escaped = delimiter.replace(/\W/, '\\$&')
  return new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|( *="[^"${escaped}]*" *|[^"${escaped}]*))(${escaped}|$)`, 'y')
})

/** How spreadsheets are kept from reading a text as a number: the formula `="00042"`. */
const FORMULA_OF_TEXT = /^\s*="((?:[^"]|"")*)"\s*$/
const withoutFormula = (field: string): string =>
  field.includes('="') ? (FORMULA_OF_TEXT.exec(field)?.[1]?.replaceAll('""', '"') ?? field) : field

/** The fields of a record; of a formula that is a text, that text. Refuses `invalid_request` if it is malformed. */
export const csvFieldsOf = (text: string, delimiter = ','): string[] => {
  const record = text.replace(/\r$/, '')
  const field = fieldUpTo(delimiter)
  field.lastIndex = 0
  const fields: string[] = []
  for (;;) {
    const [, quoted, plain = '', end] = field.exec(record) ?? refuse('invalid_request', MALFORMED)
    fields.push(withoutFormula(quoted?.replaceAll('""', '"') ?? plain))
    if (end === '') return fields
  }
}
export const MALFORMED =
  'The line is not well-formed CSV: a field that contains a quote must be in quotes, with its quotes doubled.'

const NEEDS_QUOTES = /[",\r\n]/
/** One record of CSV, without its line end. */
export const csvLine = (fields: readonly (string | null)[]): string => fields.map(csvField).join(',')

const csvField = (field: string | null): string => {
  const text = field ?? ''
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
