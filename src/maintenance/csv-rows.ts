import { isUtf8 } from 'node:buffer'
import { refuse } from '../core/engine/failures.ts'
import { orNull } from '../core/engine/or-null.ts'
import { partsOf, textAt } from '../json/places.ts'
import { type CsvColumns, csvFieldsOf, csvLinesOf, DELIMITERS, MALFORMED } from './csv.ts'
import { plainBytesOf, SAVE_AS_UTF8 } from './csv-bytes.ts'
import type { Import } from './import-lines.ts'
import { exactTextOf, type Line, textOf } from './lines.ts'

/** At least one of these members must have a column. `expected` is the text of the refusal. */
type RequiredColumn = {
  readonly oneOf: readonly string[]
  readonly expected: string
  /** What becomes of a column that belongs to no member. By default it is refused, unless `payload` takes it. */
  readonly useOf?: (name: string) => 'read' | 'ignored' | 'refused'
}
type Header = {
  readonly delimiter: string
  /** Where the text of each member comes from: columns and constant texts. */
  readonly places: ReadonlyMap<string, readonly string[]>
  /** The index of each column that is part of a place. */
  readonly indexes: ReadonlyMap<string, number>
  /** Columns that belong to no member. */
  readonly others: readonly (readonly [name: string, index: number])[]
  /** Columns that are not read, each because another one has its name. */
  readonly repeated: readonly { readonly name: string; readonly index: number; readonly ofIndex: number }[]
  readonly count: number
}

/** Other names that files give to the members, without case and separators. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  externalId: ['/contactid'],
  email: ['/emailaddress'],
  name: ['/fullname', '/firstname + /lastname'],
}

/**
 * Reads the rows of a CSV file: `lines` yields them without blank ones, and `rowOf` parses one, once the header is read.
 * Detects the delimiter, and accepts UTF-16 and any line ends. If `payload` is a member but no column, it takes all other
 * columns; `useOf` may have them read, too. Of several columns with one name, the first is read, with a warning. Refuses `invalid_request`: a header with unknown
 * columns, and a file that is not text. With a preview the whole file is checked before its first row.
 */
export const csvRows = (input: Import, members: readonly string[], required: RequiredColumn) => {
  const { chunks, preview, lineBytesMax, csv: csvOptions = {}, onWarning = () => {} } = input
  const { headerLine = 1 } = csvOptions
  const dialect = { delimiters: DELIMITERS.join('') }
  let header: Header | undefined
  const readHeader = (text: string) => {
    header = detectHeader(text, dialect.delimiters, members, required, csvOptions)
    dialect.delimiters = header.delimiter
    for (const { name, index, ofIndex } of header.repeated)
      onWarning(
        `Column ${index + 1}, ${JSON.stringify(name)}, is ignored: column ${ofIndex + 1} has the same name.`,
      )
  }
  async function* lines(): AsyncGenerator<Line> {
    // The same steps on the preview refuse a malformed file before any of its rows is imported.
    if (preview)
      await readToEnd(
        csvRows({ ...input, chunks: preview, preview: undefined, onWarning: undefined }, members, required),
      )
    const records = csvLinesOf(plainBytesOf(chunks, lineBytesMax), lineBytesMax, dialect, headerLine)
    for await (const line of records) {
      const { number, bytes } = line
      if (number < headerLine && number > 1) continue
      if (number >= headerLine && bytes && !isUtf8(bytes))
        refuse('invalid_request', `Line ${number} is not UTF-8. ${SAVE_AS_UTF8}`)
      if (bytes && isBlank(bytes, dialect.delimiters)) continue
      if (header) {
        yield line
        continue
      }
      const hint = number === 1 && bytes ? delimiterHint(Buffer.from(bytes).toString()) : undefined
      if (hint !== undefined) dialect.delimiters = hint
      else if (number >= headerLine) readHeader(textOf(line, lineBytesMax))
    }
    if (header) return
    if (headerLine > 1) refuse('invalid_request', `The file has no header in line ${headerLine} or after it.`)
    readHeader('')
  }
  const rowOf = (line: Line) => {
    const { places, indexes, others, count } = header ?? NO_HEADER
    const fields = csvFieldsOf(exactTextOf(line, lineBytesMax), dialect.delimiters)
    while (fields.length > count && fields.at(-1)?.trim() === '') fields.pop()
    if (fields.length !== count)
      refuse('invalid_request', `The line has ${fields.length} fields, and the header ${count}.`)
    const read = (part: string) => fields[indexes.get(part) ?? -1] || undefined
    const row: Record<string, string> = {}
    for (const [member, parts] of places) {
      const text = textAt(parts, read)
      if (text !== undefined) row[member] = text
    }
    return {
      members: row,
      others: Object.fromEntries(others.map(([name, i]) => [name, fields[i] ?? ''])),
    }
  }
  return { lines: lines(), rowOf }
}

const NO_HEADER: Header = {
  delimiter: '',
  places: new Map(),
  indexes: new Map(),
  others: [],
  repeated: [],
  count: 0,
}

const readToEnd = async ({ lines }: { readonly lines: AsyncIterable<Line> }): Promise<void> => {
  for await (const _ of lines);
}

/** Whether a line has nothing but blanks, quotes and delimiters. */
const isBlank = (bytes: Uint8Array, delimiters: string): boolean =>
  bytes.every((byte) => byte <= 0x20 || byte === 0x22 || delimiters.includes(String.fromCharCode(byte)))

/** The delimiter that spreadsheets name in a first line such as `sep=;`. */
const delimiterHint = (text: string): string | undefined => /^"?sep=([^\w"])"?\r?$/i.exec(text)?.[1]

/** Reads a header with each possible delimiter, and takes the one that finds the most members, then the most columns. */
const detectHeader = (
  text: string,
  delimiters: string,
  members: readonly string[],
  required: RequiredColumn,
  options: CsvColumns,
): Header => {
  const candidates = [...delimiters].flatMap((delimiter) => {
    const names = orNull(() => namesIn(text, delimiter))
    return names === null ? [] : [headerOf(names, delimiter, members, required, options)]
  })
  const [best] = candidates.toSorted((a, b) => b.places.size - a.places.size || b.count - a.count)
  if (best === undefined) return refuse('invalid_request', MALFORMED)
  refuseColumns(best, members, required, options)
  return options.ignoresOthers ? { ...best, others: [] } : best
}

/** The names of the columns, without unnamed ones at the end. */
const namesIn = (text: string, delimiter: string): string[] => {
  const names = csvFieldsOf(text, delimiter).map((name) => name.trim())
  return names.slice(0, names.findLastIndex((name) => name !== '') + 1)
}

const headerOf = (
  names: readonly string[],
  delimiter: string,
  members: readonly string[],
  { useOf }: RequiredColumn,
  { columns = {}, ignoresOthers = false }: CsvColumns,
): Header => {
  const indexOf = columnFinder(names)
  const isColumn = (part: string) => part.startsWith('/') && indexOf(part.slice(1)) >= 0
  const places = new Map<string, readonly string[]>()
  for (const member of members) {
    const chosen = columns[member]
    const parts = chosen === undefined ? usualParts(member, isColumn) : chosenParts(chosen, isColumn)
    if (parts) places.set(member, parts)
  }
  const columnParts = [...places.values()].flat().filter(isColumn)
  const indexes = new Map(columnParts.map((part) => [part, indexOf(part.slice(1))]))
  const used = [...new Set(indexes.values())]
  const payloadTakesOthers = members.includes('payload') && !places.has('payload')
  const takesOthers = payloadTakesOthers || (useOf !== undefined && !ignoresOthers)
  const others: (readonly [name: string, index: number])[] = []
  const repeated: Header['repeated'][number][] = []
  for (const [index, name] of names.entries()) {
    if (used.includes(index)) continue
    const ofIndex =
      used.find((i) => wordOf(name) !== '' && wordOf(names[i] ?? '') === wordOf(name)) ??
      (takesOthers && name !== '' ? others.find(([other]) => other === name)?.[1] : undefined)
    if (ofIndex === undefined) {
      if (useOf?.(name) !== 'ignored') others.push([name, index])
    } else repeated.push({ name, index, ofIndex })
  }
  return { delimiter, places, indexes, others, repeated, count: names.length }
}

/** Returns a function that finds a column by its exact name, or else without case and separators; -1 if there is none. */
const columnFinder = (names: readonly string[]) => {
  const words = names.map(wordOf)
  return (name: string): number => {
    const exact = names.indexOf(name)
    const word = wordOf(name)
    return exact >= 0 || word === '' ? exact : words.indexOf(word)
  }
}

/** A name without case and separators. */
export const wordOf = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')

const usualParts = (member: string, isColumn: (part: string) => boolean): string[] | undefined => {
  const aliases = ALIASES[member] ?? []
  return [`/${member}`, ...aliases].map(partsOf).find((parts) => parts.some(isColumn))
}

/** A column with this exact name wins over a sum. Undefined if a column is missing. */
const chosenParts = (chosen: string, isColumn: (part: string) => boolean): string[] | undefined => {
  if (!chosen.startsWith('=') && isColumn(`/${chosen}`)) return [`/${chosen}`]
  const parts = chosen.split(' + ').map((part) => (part.startsWith('=') ? part : `/${part}`))
  return parts.every((part) => part.startsWith('=') || isColumn(part)) ? parts : undefined
}

const refuseColumns = (
  { places, others }: Header,
  members: readonly string[],
  { oneOf, expected, useOf }: RequiredColumn,
  { columns = {}, ignoresOthers = false }: CsvColumns,
): void => {
  for (const [member, chosen] of Object.entries(columns)) {
    if (!members.includes(member))
      refuse('invalid_request', `--columns can name ${members.join(', ')}, but not ${member}.`)
    if (!places.has(member))
      refuse('invalid_request', `There is no column ${JSON.stringify(chosen)} for ${member}.`)
  }
  const payloadTakesOthers = members.includes('payload') && !places.has('payload')
  const isRead = (name: string) => name !== '' && (payloadTakesOthers || useOf?.(name) === 'read')
  const unknown = others.find(([name]) => !isRead(name))?.[0]
  if (unknown !== undefined && !ignoresOthers)
    refuse(
      'invalid_request',
      `The column ${JSON.stringify(unknown)} is unknown. Name it with --columns, or add --ignore-other-columns. ${expected}`,
    )
  if (!oneOf.some((member) => places.has(member))) refuse('invalid_request', expected)
}
