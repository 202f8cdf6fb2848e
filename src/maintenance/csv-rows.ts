import { isUtf8 } from 'node:buffer'
import { refuse } from '../core/engine/failures.ts'
import { orNull } from '../core/engine/outcome.ts'
import { partsOf, textAt } from '../json/places.ts'
import { type CsvColumns, csvFieldsOf, csvLinesOf, DELIMITERS, MALFORMED } from './csv.ts'
import { plainBytesOf, SAVE_AS_UTF8 } from './csv-bytes.ts'
import type { Import } from './import-lines.ts'
import { type Line, textOf } from './lines.ts'

/** One of these members must have a column. `expected` says so. */
type Least = { readonly oneOf: readonly string[]; readonly expected: string }
type Header = {
  /** The place of each member, by its parts. */
  readonly places: ReadonlyMap<string, readonly string[]>
  /** The column of each part that is one. */
  readonly indexes: ReadonlyMap<string, number>
  /** The columns of no member. */
  readonly others: readonly (readonly [name: string, index: number])[]
  readonly count: number
}

/** Other names of the members in files, without case and separators. */
const CALLED: Readonly<Record<string, readonly string[]>> = {
  externalId: ['/contactid'],
  email: ['/emailaddress'],
  name: ['/fullname', '/firstname + /lastname'],
}
const wordOf = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')

/**
 * Reads the rows of a CSV file: `lines` without blank ones, and `rowOf` each, once the header is read. Finds out the
 * delimiter, and takes UTF-16 and any line ends. If `payload` is a member, and no column, the other columns are. Refuses
 * `invalid_request`: a header with unknown columns, and a file that is not text, before its first row if there is a preview.
 */
export const csvRows = (input: Import, members: readonly string[], least: Least) => {
  const { chunks, preview, lineBytesMax, csv: csvOptions = {} } = input
  const dialect = { delimiters: DELIMITERS.join('') }
  let header: Header | undefined
  const setHeader = (text: string) => {
    const [best] = [...dialect.delimiters]
      .flatMap((delimiter) => {
        const names = orNull(() => namesIn(text, delimiter))
        return names === null ? [] : [{ delimiter, ...headerOf(names, members, csvOptions) }]
      })
      .toSorted((a, b) => b.places.size - a.places.size || b.count - a.count)
    if (best === undefined) return refuse('invalid_request', MALFORMED)
    refuseColumns(best, members, least, csvOptions)
    dialect.delimiters = best.delimiter
    header = csvOptions.ignoresOthers ? { ...best, others: [] } : best
  }
  const isBlank = (byte: number) =>
    byte <= 0x20 || byte === 0x22 || dialect.delimiters.includes(String.fromCharCode(byte))
  async function* lines(): AsyncGenerator<Line> {
    const whole = preview && csvRows({ ...input, chunks: preview, preview: undefined }, members, least)
    if (whole) for await (const _ of whole.lines);
    for await (const line of csvLinesOf(plainBytesOf(chunks, lineBytesMax), lineBytesMax, dialect)) {
      const { number, bytes } = line
      if (bytes && !isUtf8(bytes)) refuse('invalid_request', `Line ${number} is not UTF-8. ${SAVE_AS_UTF8}`)
      if (bytes?.every(isBlank)) continue
      if (header) {
        yield line
        continue
      }
      const text = textOf(line, lineBytesMax)
      const [, delimiter] = (number === 1 && /^"?sep=([^\w"])"?\r?$/i.exec(text)) || []
      if (delimiter) dialect.delimiters = delimiter
      else setHeader(text)
    }
    if (!header) setHeader('')
  }
  const rowOf = (line: Line) => {
    const { places = new Map(), indexes, others = [], count = 0 } = header ?? {}
    const fields = csvFieldsOf(textOf(line, lineBytesMax), dialect.delimiters)
    while (fields.length > count && fields.at(-1)?.trim() === '') fields.pop()
    if (fields.length !== count)
      refuse('invalid_request', `The line has ${fields.length} fields, and the header ${count}.`)
    const read = (part: string) => fields[indexes?.get(part) ?? -1] || undefined
    const texts = [...places].map(([member, parts]) => [member, textAt(parts, read)] as const)
    return {
      members: Object.fromEntries(texts.filter(([, text]) => text !== undefined)) as Record<string, string>,
      others: Object.fromEntries(others.map(([name, i]) => [name, fields[i] ?? ''])),
    }
  }
  return { lines: lines(), rowOf }
}

const namesIn = (text: string, delimiter: string): string[] => {
  const names = csvFieldsOf(text, delimiter).map((name) => name.trim())
  return names.slice(0, names.findLastIndex((name) => name !== '') + 1)
}

const headerOf = (
  names: readonly string[],
  members: readonly string[],
  { columns = {} }: CsvColumns,
): Header => {
  const words = names.map(wordOf)
  const indexOf = (name: string) => {
    const exact = names.indexOf(name)
    return exact >= 0 || wordOf(name) === '' ? exact : words.indexOf(wordOf(name))
  }
  const isColumn = (part: string) => part.startsWith('/') && indexOf(part.slice(1)) >= 0
  const places = new Map<string, readonly string[]>()
  for (const member of members) {
    const chosen = columns[member]
    const parts =
      chosen === undefined
        ? [`/${member}`, ...(CALLED[member] ?? [])].map(partsOf).find((parts) => parts.some(isColumn))
        : chosenParts(chosen, isColumn)
    if (parts) places.set(member, parts)
  }
  const parts = [...places.values()].flat().filter(isColumn)
  const indexes = new Map(parts.map((part) => [part, indexOf(part.slice(1))]))
  const used = new Set(indexes.values())
  const others = names.map((name, i) => [name, i] as const).filter(([, i]) => !used.has(i))
  return { places, indexes, others, count: names.length }
}
/** A column that is called so goes before a sum of several. Undefined if one is not there. */
const chosenParts = (chosen: string, isColumn: (part: string) => boolean): string[] | undefined => {
  if (!chosen.startsWith('=') && isColumn(`/${chosen}`)) return [`/${chosen}`]
  const parts = chosen.split(' + ').map((part) => (part.startsWith('=') ? part : `/${part}`))
  return parts.every((part) => part.startsWith('=') || isColumn(part)) ? parts : undefined
}

const refuseColumns = (
  { places, indexes, others }: Header,
  members: readonly string[],
  { oneOf, expected }: Least,
  { columns = {}, ignoresOthers = false }: CsvColumns,
): void => {
  for (const [member, chosen] of Object.entries(columns)) {
    if (!members.includes(member))
      refuse('invalid_request', `--columns can name ${members.join(', ')}, but not ${member}.`)
    if (!places.has(member))
      refuse('invalid_request', `There is no column ${JSON.stringify(chosen)} for ${member}.`)
  }
  const taken = new Set([...indexes.keys()].map(wordOf))
  const names = others.map(([name]) => name)
  const areTaken = members.includes('payload') && !places.has('payload')
  const isWrong = (name: string, i: number) =>
    taken.has(wordOf(name)) || (!ignoresOthers && (!areTaken || name === '' || names.indexOf(name) !== i))
  const wrong = names.find(isWrong)
  if (wrong !== undefined)
    refuse(
      'invalid_request',
      `The column ${JSON.stringify(wrong)} is unknown or occurs twice. Name it with --columns, or add --ignore-other-columns. ${expected}`,
    )
  if (!oneOf.some((member) => places.has(member))) refuse('invalid_request', expected)
}
