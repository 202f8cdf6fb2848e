import { relative } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { styleText } from 'node:util'
import { escaped, jsonFor } from '../adapters/escaped.ts'
import { writeJson } from '../json/write-json.ts'
import type { Answers, Shell, TableFormat } from './command.ts'

type Row = Readonly<Record<string, unknown>>

type Style = 'bold' | 'cyan' | 'dim' | 'red'
/** Adds color if the stream is a terminal that shows it. `NO_COLOR` and `FORCE_COLOR` take precedence. */
export const paint = (style: Style, text: string, stream: NodeJS.WritableStream = process.stdout): string =>
  styleText(style, text, { stream })

const IN_FOLDER = /^(node_modules\/\.bin\/prospect-pages|(dist\/cli\/bin|bin\/prospect-pages)\.js)$/
/** Writes commands the way this program was started: with `npx` if npm started it. */
export const withCommand = (text: string, { argv, env }: Pick<Shell, 'argv' | 'env'> = process): string => {
  const { npm_lifecycle_event: script = '' } = env
  const isByNpm = ['start', 'npx'].includes(script) || IN_FOLDER.test(relative('', argv[1] ?? ''))
  return isByNpm ? text.replaceAll('prospect-pages ', 'npx prospect-pages ') : text
}

/** Rows with each column but the last padded to one width. */
const padded = (rows: readonly (readonly string[])[]): string[][] => {
  const widths: number[] = []
  for (const row of rows) {
    for (const [x, cell] of row.entries()) widths[x] = Math.max(widths[x] ?? 0, cell.length)
  }
  return rows.map((row) => row.map((cell, x) => (x < row.length - 1 ? cell.padEnd(widths[x] ?? 0) : cell)))
}

/** Names on the left, their meaning or value on the right. */
export const inPairs = (pairs: readonly (readonly string[])[], stream?: NodeJS.WritableStream): string =>
  padded(pairs)
    .map(([name = '', value]) => `${paint('cyan', name, stream)}  ${value}\n`)
    .join('')

/** One answer as pairs; several as a table, or as pairs one after the other if the terminal is too narrow. */
export const asText = (
  answers: readonly object[],
  { columns, list, note }: TableFormat = {},
  shell: Shell = process,
): string => {
  const rows = answers.flatMap((row) => (typeof list === 'string' ? (row as Row)[list] : row)) as Row[]
  const isSingle = list === undefined && rows.length === 1
  const text = isSingle ? recordOf(shell, rows[0] ?? {}) : tableOf(shell, rows, columns)
  return note === undefined ? text : `${text}\n${note}\n`
}

const recordOf = ({ stdout }: Shell, row: Row, names = Object.keys(row)): string =>
  inPairs(
    names.map((name) => [name, cellOf(row[name])]),
    stdout,
  )

/** A table that fits the terminal. If it has no columns in order of importance, pairs replace a table that is too wide. */
const tableOf = (shell: Shell, rows: readonly Row[], columns?: readonly string[]): string => {
  if (rows.length === 0) return 'none\n'
  const names = columnsWithValues(rows, columns)
  const widthMax = Number(shell.env['COLUMNS']) || shell.stdout.columns || Infinity
  let lines: string[] = []
  for (lines of layoutsOf(rows, names)) {
    if (lines.every((line) => line.length <= widthMax)) break
    if (columns === undefined) return rows.map((row) => recordOf(shell, row, names)).join('\n')
  }
  const [head = '', ...body] = lines
  return `${[paint('bold', head, shell.stdout), ...body].join('\n')}\n`
}

const columnsWithValues = (rows: readonly Row[], columns?: readonly string[]): string[] => {
  const names = columns ?? [...new Set(rows.flatMap(Object.keys))]
  return names.filter((name) => rows.some((row) => row[name] !== null && row[name] !== undefined))
}

/** The lines of a table, from the widest layout to the narrowest: whole, with long texts cut, and with fewer columns. */
function* layoutsOf(rows: readonly Row[], names: readonly string[]): Generator<string[]> {
  yield linesOf(rows, names, Infinity)
  for (let count = names.length; count > 0; count--) yield linesOf(rows, names.slice(0, count), CUT_LENGTH)
}

const linesOf = (rows: readonly Row[], names: readonly string[], lengthMax: number): string[] => {
  const cells = rows.map((row) => names.map((name) => cut(cellOf(row[name], name), lengthMax)))
  return padded([names, ...cells]).map((row) => row.join('  '))
}

/** As long as a time. */
const CUT_LENGTH = 24
/** Ids are never cut, so that they can be pasted. */
const cut = (text: string, lengthMax: number): string => {
  const isId = /^[a-z]+_[0-9a-z]{26}$/.test(text)
  return text.length <= lengthMax || isId ? text : `${text.slice(0, lengthMax - 1)}…`
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
export const sizeOf = (bytes: number): string => {
  const power = Math.min(4, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const digits = power === 0 ? 0 : 1
  return `${(bytes / 1_024 ** power).toFixed(digits)} ${UNITS[power]}`
}

const cellOf = (value: unknown, name?: string): string => {
  if (name === 'bytes') return sizeOf(Number(value))
  if (value === null || value === undefined) return '-'
  if (typeof value !== 'object') return escaped(String(value))
  const isPlainList = Array.isArray(value) && value.every((item) => typeof item !== 'object')
  return escaped(isPlainList ? value.join(', ') || '-' : writeJson(value))
}

/** Writes JSON. Returns an error once the reader is gone. */
export const printJson = (stdout: Shell['stdout'], json: string): Promise<Error | null | undefined> =>
  new Promise((done) => stdout.write(jsonFor(stdout, json), done))

/**
 * Prints answers as JSON, one line each as soon as they arrive, or all of them as text at the end. A failure or Ctrl-C
 * still prints those that arrived before; a second Ctrl-C ends the process at once.
 */
export const printAnswers = async (
  answers: Answers,
  format: TableFormat | undefined,
  isJson: boolean,
  shell: Shell,
): Promise<void> => {
  const { stdout } = shell
  const isLines = format?.isLines === true
  const print = isJson || isLines ? printLines : printText
  const count = await print(untilInterrupted(answers, shell), format, shell)
  const isListed = format?.list === true || isLines
  if (count === 0 && isListed && !isJson) stdout.write(asText([], format, shell))
}

type Print = (
  answers: AsyncIterable<object>,
  format: TableFormat | undefined,
  shell: Shell,
) => Promise<number>

/** Writes one line after the other. A slow reader slows the command down, which otherwise would hold everything unread. */
const printLines: Print = async (answers, format, { stdout }) => {
  let count = 0
  for await (const answer of answers) {
    count++
    const error = await printJson(stdout, `${writeJson(answer)}\n`)
    if (error && format?.isLines) break
  }
  return count
}

const printText: Print = async (answers, format, shell) => {
  const collected: object[] = []
  try {
    for await (const answer of answers) collected.push(answer)
  } finally {
    if (collected.length > 0) shell.stdout.write(asText(collected, format, shell))
  }
  return collected.length
}

/** Yields answers one by one until Ctrl-C. It is handled only from the first answer on, and only once. */
async function* untilInterrupted(answers: Answers, shell: Shell): AsyncGenerator<object> {
  let isInterrupted = false
  const interrupt = () => {
    isInterrupted = true
    shell.exitCode = 130 // what a shell expects after Ctrl-C
  }
  try {
    for await (const answer of eachOf(answers)) {
      if (shell.listenerCount('SIGINT') === 0) shell.once('SIGINT', interrupt)
      yield answer
      // The embedded database works synchronously: without a pause no signal would be handled before the end.
      await setImmediate()
      if (isInterrupted) return
    }
  } finally {
    shell.off('SIGINT', interrupt)
  }
}

async function* eachOf(answers: Answers): AsyncGenerator<object> {
  if (Symbol.asyncIterator in answers) return yield* answers
  const all = (await answers) ?? []
  yield* Array.isArray(all) ? all : [all]
}

/** Reports of a running command on stderr: in words on a terminal, otherwise as JSON. */
export const report = ({ stderr }: Shell, words: string, facts?: object): void => {
  stderr.write(`${stderr.isTTY ? escaped(words) : JSON.stringify(facts)}\n`)
}

/** Reports progress at most once a second. Steps that count are always reported. Without facts, only on a terminal. */
export const reportEverySecond = (shell: Shell) => {
  let lastMs = performance.now()
  return (words: string, facts?: object, isStep = false): void => {
    const isDue = performance.now() - lastMs >= 1_000
    if (isDue) lastMs = performance.now()
    if ((isDue || isStep) && (facts || shell.stderr.isTTY)) report(shell, words, facts)
  }
}
