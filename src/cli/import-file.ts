import { accessSync, createReadStream, statSync } from 'node:fs'
import { addAbortSignal } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { type Config, readConfig } from '../config/config.ts'
import type { Import, Imported, ReportedLine } from '../maintenance/import-lines.ts'
import { refusingWorkbooks } from '../maintenance/workbooks.ts'
import type { AttributesMode } from '../shapes/attributes.ts'
import {
  type Command,
  type CommandDeps,
  type Input,
  isFolder,
  type Open,
  type Shell,
  TENANT,
  type Texts,
  valued,
  wrongUse,
} from './command.ts'
import { report, reportEverySecond } from './output.ts'

export const IMPORT_OPTIONS = {
  tenant: TENANT,
  file: valued('F', 'a file of any length, - for stdin', { required: true }),
  'from-line': valued('N', 'skip the lines before this one', { default: '1' }),
  format: valued('FORMAT', 'jsonl or csv; by default as the name of the file ends, else jsonl'),
  columns: valued('C', `the columns of CSV by member: email="Email Address",name="First Name + Last Name"`),
  'header-line': valued('N', 'the line of the header of CSV; lines before it are skipped', { default: '1' }),
  'attributes-mode': valued('MODE', 'fill or overwrite the attributes that people have', { default: 'fill' }),
  'ignore-other-columns': { type: 'boolean', help: 'ignore other columns of CSV' },
} as const satisfies Command['options']

/** Lines with conflicts that are reported; the others are only counted. A file may have millions. */
const CONFLICTS_REPORTED_MAX = 1_000

/** By default V8 lets garbage grow to 200 MB before it collects it, though only 30 MB are in use. */
export const keepSmall = (): void => setFlagsFromString('--optimize-for-size')

type Importer = (
  input: Import,
  isCsv: boolean,
  world: CommandDeps,
  config: Config,
) => Promise<{
  readonly imported: Imported
  readonly why: unknown
  /** Unknown members of the lines. */
  readonly ignored?: readonly string[]
}>

/** Reads the file that the options name, and reports the results of its lines. `what`: the plural for the lines. */
export async function* importFile(input: Input, open: Open, shell: Shell, what: string, run: Importer) {
  const { tenantId, file, fromLine, isCsv, csv, attributesMode } = fileIn(input)
  if (file === '-' && shell.stdin.isTTY) shell.stderr.write('Type or paste the lines; end with Ctrl-D.\n')
  const config = readConfig(shell.env)
  const world = await open()
  keepSmall()
  const stop = new AbortController()
  shell.once('SIGINT', () => stop.abort())
  const read = () =>
    refusingWorkbooks(addAbortSignal(stop.signal, file === '-' ? shell.stdin : createReadStream(file)))
  const chunks = read()
  const preview = isCsv && file !== '-' && statSync(file).isFile() ? read() : undefined
  const reportProgress = reportEverySecond(shell)
  let isReported = false
  let conflicts = 0
  const lines: Import = {
    store: world.store,
    tenantId,
    chunks,
    preview,
    csv,
    fromLine,
    attributesMode,
    stop: stop.signal,
    lineBytesMax: config.bodyBytesMax,
    onReported: (line) => {
      isReported = true
      if (line.code === 'conflict') conflicts++
      if (conflicts <= CONFLICTS_REPORTED_MAX || line.code !== 'conflict') reportLine(shell, line)
    },
    onWarning: (warning) => report(shell, warning, { warning }),
    onProgress: ({ read, nextLine }) => reportProgress(`${read} ${what}, up to line ${nextLine - 1}`),
  }
  const { imported, why, ignored = [] } = await run(lines, isCsv, world, config)
  if (ignored.length > 0) report(shell, `Ignored members: ${ignored.join(', ')}.`, { ignored })
  const unreported = conflicts - CONFLICTS_REPORTED_MAX
  if (unreported > 0)
    report(shell, `${unreported} more lines have conflicts.`, { conflictsUnreported: unreported })
  const { nextLine, ...counts } = imported
  yield why === null ? counts : imported
  shell.exitCode = stop.signal.aborted ? 130 : Number(isReported)
  if (why !== null && !stop.signal.aborted) throw why
}

const LINE_NUMBER = /^[1-9]\d{0,14}$/
/** The file that the options name, and how to read it. Refuses incorrect use. */
const fileIn = ({ texts, values }: Input) => {
  const { tenant: tenantId = '', file = '', 'from-line': from = '' } = texts
  if (!LINE_NUMBER.test(from)) wrongUse('--from-line must be a whole number from 1 on')
  if (isFolder(file)) wrongUse(`--file ${file} is a folder`)
  if (file !== '-') accessSync(file)
  const isCsv = isCsvIn(texts, /\.csv$/i.test(file))
  const ignoresOthers = values['ignore-other-columns'] === true
  const columns = texts['columns'] === undefined ? undefined : columnsIn(texts['columns'])
  const headerLine = texts['header-line'] ?? '1'
  if (!LINE_NUMBER.test(headerLine)) wrongUse('--header-line must be a whole number from 1 on')
  if (!isCsv && (ignoresOthers || columns || headerLine !== '1'))
    wrongUse('--columns, --header-line and --ignore-other-columns are for CSV')
  const csv = { ignoresOthers, headerLine: Number(headerLine), ...(columns && { columns }) }
  return { tenantId, file, fromLine: Number(from), isCsv, csv, attributesMode: attributesModeIn(texts) }
}

const attributesModeIn = ({ 'attributes-mode': mode }: Texts): AttributesMode =>
  mode === 'fill' || mode === 'overwrite' ? mode : wrongUse('--attributes-mode must be fill or overwrite')

export const isCsvIn = ({ format }: Texts, byDefault = false): boolean => {
  if (format === undefined) return byDefault
  if (format !== 'csv' && format !== 'jsonl') wrongUse('--format must be jsonl or csv')
  return format === 'csv'
}

/** The column of each member, such as `email=Email,name=Name`. A comma may be part of the name of a column. */
const columnsIn = (text: string): Record<string, string> =>
  Object.fromEntries(text.split(/,(?=\s*\w+=)/).map(columnIn))
const columnIn = (text: string): [member: string, column: string] => {
  const [, member = '', column = ''] = /^\s*(\w+)=(.*\S)\s*$/s.exec(text) ?? wrongUse(COLUMNS)
  return [member, column]
}
const COLUMNS = `--columns must be member=column, such as email="Email Address",name="First Name + Last Name"`

const reportLine = (shell: Shell, reported: ReportedLine): void => {
  const { line, code, detail, errors = [] } = reported
  const faults = errors.map(({ pointer, detail }) => `; ${pointer} ${detail}`).join('')
  report(shell, `line ${line}: ${detail}${faults} (${code})`, reported)
}
