import { relative, sep } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import { stripVTControlCharacters } from 'node:util'

const SLOWEST = 10
const OUTPUT_LINES = 40
/** The most lines of the difference of one failure. */
const DIFFERENCE_LINES = 60

/** Members that the events of tap and of node:test share. */
type Told = {
  readonly name: string
  readonly file?: string
  /** The file that runs; `file` is where the assertion stands. */
  readonly entryFile?: string
  readonly line?: number
  readonly nesting: number
  readonly skip?: string | boolean
  readonly details?: {
    readonly duration_ms?: number
    readonly type?: string
    readonly error?: unknown
    readonly passed?: boolean
  }
}
type Printed = Pick<Told, 'file' | 'entryFile'> & { readonly message: string }
type Faulty = Error & { readonly cause?: unknown; readonly failureType?: string }
/** Failures at one line, perhaps several: the first difference stands for all. */
type Failure = { readonly at: string; readonly title: string; readonly why: string; times: number }
/** The report of one file so far. */
type Run = {
  passed: number
  failures: Failure[]
  ms: number
  /** The titles that lead to the test whose events come next. */
  readonly titles: string[]
  readonly output: string[]
}

/**
 * A line for each file as it ends, then a page about the run: each folder with its tests and time, what was skipped and why, the slowest files, and for each
 * failure where it is, the difference, and the command that runs its file alone.
 */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const runs = new Map<string, Run>()
  const skipped = new Map<string, Set<string>>()
  const startMs = performance.now()
  const nameOf = ({ entryFile, file, name }: Told) => relative('', entryFile ?? file ?? name)
  const runOf = (file: string): Run => {
    const run = runs.get(file) ?? { passed: 0, failures: [], ms: 0, titles: [], output: [] }
    runs.set(file, run)
    return run
  }

  for await (const { type, data } of events) {
    if (type === 'test:stdout' || type === 'test:stderr') {
      const { file, entryFile = file, message } = data as unknown as Printed
      if (entryFile === undefined) continue
      const { output } = runOf(relative('', entryFile))
      output.push(...message.split('\n').filter(Boolean))
      output.splice(0, output.length - OUTPUT_LINES)
      continue
    }
    if (!['test:start', 'test:pass', 'test:fail', 'test:complete'].includes(type)) continue
    const told = data as unknown as Told
    const file = nameOf(told)
    // Besides the tests in it, each file is a test.
    const isFile = told.nesting === 0 && relative('', told.name) === file
    const run = runOf(file)
    if (isFile) {
      if (type === 'test:complete') {
        run.ms = told.details?.duration_ms ?? 0
        yield `${told.details?.passed === false ? 'FAILED' : 'ok    '} ${file} ${seconds(run.ms)}\n`
      }
      if (type === 'test:fail' && run.failures.length === 0)
        run.failures.push({ at: file, title: 'the whole file', why: whole(told, run.output), times: 1 })
      continue
    }
    const { titles } = run
    if (type === 'test:start') titles.splice(told.nesting, Infinity, told.name)
    // Without a reason, the test made no assertion itself.
    if (type === 'test:pass' && typeof told.skip === 'string')
      skipped.set(told.skip, (skipped.get(told.skip) ?? new Set()).add(file))
    else if (type === 'test:pass' && (told.skip || told.details?.type === 'suite')) run.passed++
    if (type === 'test:fail') {
      const error = told.details?.error as Faulty | undefined
      // The parents of what failed fail too.
      if (error?.failureType === 'subtestsFailed') continue
      const at = told.line ? `${relative('', told.file ?? file)}:${told.line}` : file
      const title = [...titles.slice(0, told.nesting), told.name].join(' › ')
      const same = run.failures.find((failure) => failure.at === at && failure.title === title)
      if (same === undefined) run.failures.push({ at, title, why: differenceOf(error), times: 1 })
      else same.times++
    }
  }
  yield* page(runs, skipped, (performance.now() - startMs) / 1_000)
}

function* page(
  runs: ReadonlyMap<string, Run>,
  skipped: ReadonlyMap<string, ReadonlySet<string>>,
  wallSeconds: number,
) {
  const folders = new Map<string, { passed: number; failed: number; ms: number; files: number }>()
  for (const [file, { passed, failures, ms }] of runs) {
    const folder = folderOf(file)
    const sum = folders.get(folder) ?? { passed: 0, failed: 0, ms: 0, files: 0 }
    folders.set(folder, {
      passed: sum.passed + passed,
      failed: sum.failed + timesOf(failures),
      ms: sum.ms + ms,
      files: sum.files + 1,
    })
  }
  const failures = [...runs].flatMap(([file, run]) => run.failures.map((failure) => ({ ...failure, file })))
  for (const { file, at, title, why, times } of failures)
    yield `\nfailed  ${at}${times > 1 ? ` (${times} times)` : ''}\n        ${title}\n${indented(why)}\n        npx node --test ${file}\n`
  yield '\n'
  for (const [folder, { passed, failed, ms, files }] of [...folders].sort())
    yield `${folder.padEnd(24)} ${count(passed)} passed${failed ? `, ${failed} failed` : ''} in ${counted(files)}, ${seconds(ms)}\n`
  for (const [reason, files] of skipped)
    yield `skipped: ${reason} (${files.size === 1 ? [...files][0] : `in ${counted(files.size)}`})\n`
  const slowest = [...runs].sort(([, a], [, b]) => b.ms - a.ms).slice(0, SLOWEST)
  yield `slowest: ${slowest.map(([file, { ms }]) => `${file} ${seconds(ms)}`).join('\n         ')}\n`
  const all = [...folders.values()]
  const passed = all.reduce((sum, folder) => sum + folder.passed, 0)
  yield `${passed} tests passed, ${timesOf(failures)} failed, in ${counted(runs.size)} and ${Math.round(wallSeconds)} s\n`
}

const timesOf = (failures: readonly Failure[]) => failures.reduce((sum, { times }) => sum + times, 0)
const counted = (files: number) => `${files} ${files === 1 ? 'file' : 'files'}`
const count = (number: number) => String(number).padStart(5)
const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
const folderOf = (file: string) => file.split(sep).slice(0, -1).slice(0, 2).join('/')
const indented = (text: string) => text.replaceAll(/^/gm, '        ')

/** The message of a failed assertion, which has the difference, without colours and the spaces that they filled. */
const differenceOf = (error: Faulty | undefined): string => {
  const cause = error?.cause ?? error
  const text = cause instanceof Error ? `${cause.message}\n${stackOf(cause)}` : String(cause)
  const lines = stripVTControlCharacters(text)
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
  const left = lines.length - DIFFERENCE_LINES
  return [...lines.slice(0, DIFFERENCE_LINES), ...(left > 0 ? [`… ${left} more lines`] : [])].join('\n')
}

const stackOf = ({ stack = '', message }: Error): string =>
  (stack.includes(message) ? stack.slice(stack.indexOf(message) + message.length) : stack)
    .split('\n')
    .filter((line) => line.includes('/test/') || line.includes('/src/'))
    .join('\n')

/** A file that failed as a whole: it crashed, hung or ended too early. Its last output says more. */
const whole = ({ details }: Told, output: readonly string[]): string => {
  const { message, cause } = (details?.error ?? {}) as Faulty & { exitCode?: number }
  const { exitCode, signal } = (details?.error ?? {}) as { exitCode?: number; signal?: string }
  const ended = signal ? `ended by ${signal}` : `exit code ${exitCode}`
  return [`${cause instanceof Error ? cause.message : (message ?? 'failed')} (${ended})`, ...output].join(
    '\n',
  )
}
