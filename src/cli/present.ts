import { setImmediate as nextTurn } from 'node:timers/promises'
import { writeJson } from '../core/write-json.ts'
import { harmless, inPairs, padded, widthOf, wrapped } from './layout.ts'
import type { Screen } from './screen.ts'

/** What a command answers, once it is there. */
export type Answer = object | readonly object[]
type Row = Readonly<Record<string, unknown>>

/** How an answer looks on a terminal. All of it may be left out. */
export type Look = {
  /** The members that a table shows; without it all of them. An answer alone always shows all. */
  readonly columns?: readonly string[]
  /** The member whose list is all that is shown. */
  readonly list?: string
  /** A sentence below the answer. */
  readonly note?: string
}

type Out = {
  readonly print: (text: string) => void
  /** Called before the first line is printed that follows the work. */
  readonly end: () => void
}

/**
 * Prints what a command answers: one JSON object on one line, for each of several, as they come; or, once all are there,
 * a text for a terminal. What came before a failure, or before Ctrl-C, is printed too.
 */
export const present = async (
  work: Promise<Answer> | AsyncIterable<object>,
  { isJson, ...look }: Look & { readonly isJson: boolean },
  screen: Screen,
  { print, end }: Out,
): Promise<void> => {
  const printOne = (one: object) => print(`${writeJson(one)}\n`)
  if (!(Symbol.asyncIterator in work)) {
    const answer = await work.finally(end)
    if (!isJson) print(asText(answer, screen, look))
    else for (const one of Array.isArray(answer) ? answer : [answer]) printOne(one)
    return
  }
  const came: object[] = []
  let isInterrupted = false
  const interrupt = () => {
    isInterrupted = true
    process.exitCode = INTERRUPTED
  }
  // A second one ends at once.
  process.once('SIGINT', interrupt)
  try {
    for await (const one of work) {
      isJson ? printOne(one) : came.push(one)
      // Work on the embedded database waits for nothing: no signal would be heard before its end.
      await nextTurn()
      if (isInterrupted) break
    }
  } finally {
    process.off('SIGINT', interrupt)
    end()
    if (came.length > 0) print(asText(came, screen, look))
  }
}

/** What a shell takes for ended by Ctrl-C. */
const INTERRUPTED = 130

/**
 * What a terminal gets: several as a table, or one below the other where that is too wide; one alone with each of its
 * members on a line. An object with nothing but one list in it is shown as that list.
 */
const asText = (answer: Answer, screen: Screen, { columns, list, note }: Look = {}): string => {
  const rows = rowsIn(list === undefined ? answer : { [list]: (answer as Row)[list] })
  const text = rows === null ? recordOf(answer as Row, screen) : tableOrRecords(rows, screen, columns)
  return note === undefined ? text : `${text}\n${wrapped(note, screen.width).join('\n')}\n`
}

const rowsIn = (answer: Answer): readonly Row[] | null => {
  if (Array.isArray(answer)) return answer.length === 1 ? null : answer
  const [only, ...more] = Object.values(answer)
  return more.length === 0 && isListOfObjects(only) ? only : null
}

const isListOfObjects = (value: unknown): value is readonly Row[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'object' && item !== null)

const recordOf = (one: Row, { width, paint }: Screen): string => {
  const record = (Array.isArray(one) ? one[0] : one) as Row
  const pairs = Object.entries(record).map(([name, value]) => [name, shown(value).join(', ')] as const)
  return inPairs(pairs, { width, paintLeft: (text) => paint('cyan', text) })
}

const tableOrRecords = (
  rows: readonly Row[],
  screen: Screen,
  columns: readonly string[] | undefined,
): string => {
  if (rows.length === 0) return `${screen.paint('dim', 'none')}\n`
  const all = columns ?? [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const names = all.filter((name) => rows.some((row) => row[name] !== null && row[name] !== undefined))
  const cells = rows.map((row) => names.map((name) => shown(row[name], 'short')))
  const widths = names.map((name, i) =>
    cells.reduce((widest, row) => Math.max(widest, ...(row[i] ?? []).map(widthOf)), widthOf(name)),
  )
  if (widths.reduce((sum, width) => sum + width + GAP, -GAP) > screen.width)
    return rows.map((row) => recordOf(pick(row, names), screen)).join('\n')
  const head = lineOf(names, widths, (text) => screen.paint('bold', text))
  return head + cells.map((row) => rowOf(row, widths)).join('')
}

const GAP = 2

const pick = (row: Row, names: readonly string[]): Row =>
  Object.fromEntries(names.map((name) => [name, row[name]]))

/** As many lines as its longest cell has parts. */
const rowOf = (cells: readonly (readonly string[])[], widths: readonly number[]): string => {
  const height = Math.max(1, ...cells.map((parts) => parts.length))
  return Array.from({ length: height }, (_, line) =>
    lineOf(
      cells.map((parts) => parts[line] ?? ''),
      widths,
    ),
  ).join('')
}

const lineOf = (
  texts: readonly string[],
  widths: readonly number[],
  paint = (text: string): string => text,
): string => {
  const line = texts.map((text, i) => padded(text, widths[i] ?? 0)).join(' '.repeat(GAP))
  return `${paint(line.trimEnd())}\n`
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** A value as one text, a list of plain values as one text each. A time of a table is cut to its minute. */
const shown = (value: unknown, length: 'full' | 'short' = 'full'): readonly string[] => {
  if (value === null || value === undefined) return ['-']
  if (typeof value === 'string')
    return [
      length === 'short' && TIME.test(value) ? `${value.slice(0, 16).replace('T', ' ')}Z` : harmless(value),
    ]
  if (Array.isArray(value) && value.length > 0 && value.every((item) => typeof item !== 'object'))
    return value.map((item) => harmless(String(item)))
  return [typeof value === 'object' ? harmless(writeJson(value)) : String(value)]
}
