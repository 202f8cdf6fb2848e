import { refuse } from '../core/engine/failures.ts'
import { memoized } from '../core/engine/keys.ts'
import { type Line, linesOf } from './lines.ts'

const QUOTE = 34
const NEWLINE = 10
/** Delimiters of fields, the likeliest first. */
export const DELIMITERS = [',', ';', '\t', '|']

/** How the columns of a file are read, where its header does not say it. */
export type CsvColumns = {
  /** The column of a member, `First Name + Last Name` for several, or `=text` for a text that is the same in all rows. */
  readonly columns?: Readonly<Record<string, string>>
  /** Whether columns that are no members are left out. */
  readonly ignoresOthers?: boolean
}

/**
 * The records of CSV (RFC 4180) as lines, each numbered by its first one: within quotes a line end is part of a field.
 * Other delimiters may be set between two records. Refuses `invalid_request` at a quote that is not closed: where the next
 * record begins is unknown.
 */
export async function* csvLinesOf(
  chunks: AsyncIterable<Buffer>,
  bytesMax: number,
  dialect = { delimiters: ',' },
): AsyncGenerator<Line> {
  // A quote opens a field only at its beginning. Within it the next one ends it, unless yet another one follows.
  let state: 'start' | 'plain' | 'quoted' | 'closed' = 'start'
  let line = 1
  let openedIn = 1
  let length = 0
  const refuseIfOpen = () => {
    if (state === 'quoted')
      refuse('invalid_request', `The quote that opens in line ${openedIn} is not closed.`)
  }
  const goesOn = (bytes: Buffer) => {
    const [delimiter, ...more] = Buffer.from(dialect.delimiters)
    for (const byte of bytes)
      if (state === 'quoted') state = byte === QUOTE ? 'closed' : 'quoted'
      else if (byte === QUOTE && state !== 'plain') {
        if (state === 'start') openedIn = line
        state = 'quoted'
      } else state = byte === NEWLINE || byte === delimiter || more.includes(byte) ? 'start' : 'plain'
    length += bytes.length
    if (bytes.at(-1) !== NEWLINE) return false
    line++
    if (length > bytesMax) refuseIfOpen()
    if (state !== 'quoted') length = 0
    return state === 'quoted'
  }
  for await (const record of linesOf(chunks, bytesMax, goesOn)) {
    refuseIfOpen()
    yield record
  }
}

const fieldUpTo = memoized((delimiter: string) => {
  const mark = delimiter.replace(/\W/, '\\$&')
  return new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|([^"${mark}]*))(${mark}|$)`, 'y')
})
/** The fields of a record. Refuses `invalid_request` if it is malformed. */
export const csvFieldsOf = (text: string, delimiter = ','): string[] => {
  const record = text.replace(/\r$/, '')
  const field = fieldUpTo(delimiter)
  field.lastIndex = 0
  const fields: string[] = []
  for (;;) {
    const [, quoted, plain = '', end] = field.exec(record) ?? refuse('invalid_request', MALFORMED)
    fields.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end === '') return fields
  }
}
export const MALFORMED =
  'The line is not well-formed CSV: a field that contains a quote must be in quotes, with its quotes doubled.'

/** One record of CSV, without its end. */
export const csvLine = (fields: readonly (string | null)[]): string =>
  fields
    .map((field) => (field && TO_QUOTE.test(field) ? `"${field.replaceAll('"', '""')}"` : field))
    .join(',')
const TO_QUOTE = /[",\r\n]/
