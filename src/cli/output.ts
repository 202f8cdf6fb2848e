import { relative } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { styleText } from 'node:util'
import { escaped, jsonFor } from '../adapters/escaped.ts'
import { writeJson } from '../json/write-json.ts'
import type { Answers, Shell, TableFormat } from './command.ts'

type Row = Readonly<Record<string, unknown>>

type Style = 'bold' | 'cyan' | 'dim' | 'red'
/** Adds color if the stream is a terminal that shows it; `NO_COLOR` and `FORCE_COLOR` decide first. */
export const paint = (style: Style, text: string, stream: NodeJS.WritableStream = process.stdout): string =>
  styleText(style, text, { stream })

const IN_FOLDER = /^(node_modules\/\.bin\/prospect-pages|(dist\/cli\/bin|bin\/prospect-pages)\.js)$/
/** A text with its commands as they work where this was started: npm finds those of a folder, a shell does not. */
export const withCommand = (text: string, { argv, env }: Pick<Shell, 'argv' | 'env'> = process): string => {
  const { npm_lifecycle_event: script = '' } = env
  const isByNpm = ['start', 'npx'].includes(script) || IN_FOLDER.test(relative('', argv[1] ?? ''))
  return isByNpm ? text.replaceAll('prospect-pages ', 'npx prospect-pages ') : text
}

/** Rows with each column but the last padded to one width. */
const padded = (rows: readonly (readonly string[])[]): string[][] => {
  const widths: number[] = []
  for (const row of rows)
    for (const [x, cell] of row.entries()) widths[x] = Math.max(widths[x] ?? 0, cell.length)
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

/** As long as a time. Ids are never cut, so that they can be pasted. */
const CUT_LENGTH = 24
const cut = (text: string, max: number): string =>
  text.length <= max || /^[a-z]+_[0-9a-z]{26}$/.test(text) ? text : `${text.slice(0, max - 1)}…`

const tableOf = (
  shell: Shell,
  rows: readonly Row[],
  columns?: readonly string[],
  textMax = Infinity,
): string => {
  if (rows.length === 0) return 'none\n'
  // Columns without any value are left out.
  const names = (columns ?? [...new Set(rows.flatMap(Object.keys))]).filter((name) =>
    rows.some((row) => row[name] !== null && row[name] !== undefined),
  )
  const cells = rows.map((row) => names.map((name) => cut(cellOf(row[name], name), textMax)))
  const [head = '', ...lines] = padded([names, ...cells]).map((row) => row.join('  '))
  const width = Number(shell.env['COLUMNS']) || shell.stdout.columns || Infinity
  const fits = [head, ...lines].every((line) => line.length <= width)
  if (!fits && columns === undefined) return rows.map((row) => recordOf(shell, row, names)).join('\n')
  if (!fits && textMax > CUT_LENGTH) return tableOf(shell, rows, names, CUT_LENGTH)
  if (!fits && names.length > 1) return tableOf(shell, rows, names.slice(0, -1), CUT_LENGTH)
  return `${[paint('bold', head, shell.stdout), ...lines].join('\n')}\n`
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
const sizeOf = (bytes: number): string => {
  const power = Math.min(4, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return `${(bytes / 1_024 ** power).toFixed(power && 1)} ${UNITS[power]}`
}

const cellOf = (value: unknown, name?: string): string => {
  if (name === 'bytes') return sizeOf(Number(value))
  if (value === null || value === undefined) return '-'
  if (typeof value !== 'object') return escaped(String(value))
  const isPlainList = Array.isArray(value) && value.every((item) => typeof item !== 'object')
  return escaped(isPlainList ? value.join(', ') || '-' : writeJson(value))
}

/** Returns an error once the reader is gone. */
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
) => {
  const { stdout } = shell
  const collected: object[] = []
  let isEmpty = true
  let isInterrupted = false
  const interrupt = () => {
    isInterrupted = true
    shell.exitCode = 130 // what a shell expects after Ctrl-C
  }
  try {
    for await (const answer of Symbol.asyncIterator in answers ? answers : [(await answers) ?? []].flat()) {
      if (shell.listenerCount('SIGINT') === 0) shell.once('SIGINT', interrupt)
      isEmpty = false
      // A slow reader slows the command down, which otherwise would hold everything unread.
      if (isJson || format?.isLines) {
        const error = await printJson(stdout, `${writeJson(answer)}\n`)
        if (error && format?.isLines) break
      } else collected.push(answer)
      // The embedded database works synchronously: without a pause no signal would be handled before the end.
      await setImmediate()
      if (isInterrupted) break
    }
  } finally {
    shell.off('SIGINT', interrupt)
    if (collected.length > 0) stdout.write(asText(collected, format, shell))
  }
  if (!isJson && isEmpty && (format?.list === true || format?.isLines))
    stdout.write(asText([], format, shell))
}

/** Reports of a running command on stderr: in words on a terminal, otherwise as JSON. */
export const report = ({ stderr }: Shell, words: string, facts?: object): void => {
  stderr.write(`${stderr.isTTY ? escaped(words) : JSON.stringify(facts)}\n`)
}

/** Reports progress at most once a second, unless it is a step that counts. Without facts only on a terminal. */
export const reportEverySecond = (shell: Shell) => {
  let lastMs = performance.now()
  return (words: string, facts?: object, isStep = false): void => {
    const isDue = performance.now() - lastMs >= 1_000
    if (isDue) lastMs = performance.now()
    if ((isDue || isStep) && (facts || shell.stderr.isTTY)) report(shell, words, facts)
  }
}
