import { refuse } from '../core/engine/failures.ts'
import { type Line, linesOf } from './lines.ts'

const [QUOTE, COMMA, NEWLINE] = [34, 44, 10]

/**
 * The records of CSV (RFC 4180) as lines, each numbered by its first one: within quotes a line end is part of a field.
 * Refuses `invalid_request` at a quote that is not closed: where the next record begins is unknown.
 */
export async function* csvLinesOf(chunks: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<Line> {
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
    for (const byte of bytes)
      if (state === 'quoted') state = byte === QUOTE ? 'closed' : 'quoted'
      else if (byte === QUOTE && state !== 'plain') {
        if (state === 'start') openedIn = line
        state = 'quoted'
      } else state = byte === COMMA || byte === NEWLINE ? 'start' : 'plain'
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

const FIELD = /(?:"([^"]*(?:""[^"]*)*)"|([^",]*))(,|$)/y

/** The fields of a record. Refuses `invalid_request` if it is malformed. */
export const csvFieldsOf = (text: string): string[] => {
  const record = text.replace(/\r$/, '')
  const fields: string[] = []
  FIELD.lastIndex = 0
  for (;;) {
    const [, quoted, plain = '', end] = FIELD.exec(record) ?? refuse('invalid_request', MALFORMED)
    fields.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end === '') return fields
  }
}
const MALFORMED =
  'The line is not well-formed CSV: a field that contains a quote must be in quotes, with its quotes doubled.'

/** One record of CSV, without its end. */
export const csvLine = (fields: readonly (string | null)[]): string =>
  fields
    .map((field) => (field && TO_QUOTE.test(field) ? `"${field.replaceAll('"', '""')}"` : field))
    .join(',')
const TO_QUOTE = /[",\r\n]/
