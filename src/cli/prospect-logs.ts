import { accessSync, createReadStream } from 'node:fs'
import { addAbortSignal } from 'node:stream'
import { isatty } from 'node:tty'
import { setFlagsFromString } from 'node:v8'
import { readConfig } from '../config/config.ts'
import { logProspectActivities } from '../core/activities/log-prospect-activity.ts'
import type { Imported, RefusedLine } from '../operations/import-prospect-logs.ts'
import { utcOf } from '../shapes/text.ts'
import { type Command, isFolder, TENANT, type Texts, valued, wrongUse } from './command.ts'
import { report, reportEverySecond } from './output.ts'

/** By default V8 lets garbage grow to 200 MB before it collects it, though only 30 MB are in use. */
const SMALL = '--optimize-for-size'

export const prospectLogCommands: readonly Command[] = [
  {
    words: 'prospect-logs import',
    help: 'logs activities from JSON lines, in order, even while a server is running',
    details: [
      'Each line is the body of one POST /v0/prospect_logs. Refused lines are reported on stderr, and the exit code',
      'is 1. Give each line an idempotencyKey, and an import can be repeated safely. Ctrl-C stops after the current',
      'list; every line before nextLine is then stored or refused.',
    ],
    options: {
      tenant: TENANT,
      file: valued('F', 'a file of JSON lines of any length, - for stdin', { required: true }),
      'from-line': valued('N', 'skip the lines before this one', { default: '1' }),
    },
    examples: {
      'one activity': `echo '{"source":"crm","email":"ada@example.com","payload":{},"idempotencyKey":"crm-1"}' | prospect-pages prospect-logs import --tenant "$TENANT" --file -`,
    },
    async *run({ texts: { tenant: tenantId = '', file = '', 'from-line': from = '' } }, open) {
      if (!/^[1-9]\d{0,14}$/.test(from)) wrongUse('--from-line must be a whole number from 1 on')
      if (isFolder(file)) wrongUse(`--file ${file} is a folder`)
      if (file !== '-') accessSync(file)
      else if (isatty(0)) process.stderr.write('Type or paste JSON lines; end with Ctrl-D.\n')
      const { bodyBytesMax: lineBytesMax, requireIdentity } = readConfig(process.env)
      const world = await open()
      setFlagsFromString(SMALL)
      const stop = new AbortController()
      process.once('SIGINT', () => stop.abort())
      const source = addAbortSignal(stop.signal, file === '-' ? process.stdin : createReadStream(file))
      const reportProgress = reportEverySecond()
      const onProgress = ({ read, nextLine }: Imported) =>
        reportProgress(`${read} activities, up to line ${nextLine - 1}`)
      const log = logProspectActivities({ ...world, requireIdentity })
      const deps = { ...world, logProspectActivities: log, onRefused: reportRefused, onProgress }
      const input = { tenantId, chunks: source, lineBytesMax, fromLine: Number(from), stop: stop.signal }
      const { importProspectLogs } = await import('../operations/import-prospect-logs.ts')
      const { imported, why } = await importProspectLogs(deps)(input)
      const { nextLine, ...counts } = imported
      yield why === null ? counts : imported
      process.exitCode = stop.signal.aborted ? 130 : Math.min(counts.refused, 1)
      if (why !== null && !stop.signal.aborted) throw why
    },
  },
  {
    words: 'prospect-logs export',
    help: 'prints the logged activities of a tenant as JSON lines, oldest first',
    details: [
      'A line has the fields of GET /v0/prospect_logs/{prospect_log_id}, with the payload as it was sent. Times are',
      'those within the ids, which may be a few milliseconds after createdAt.',
    ],
    options: {
      tenant: TENANT,
      since: valued(
        'TIME',
        'only activities that arrived at this time or later, such as 2026-11-22T09:00:00Z',
      ),
      until: valued('TIME', 'only activities that arrived before this time'),
    },
    examples: {
      'all, to a file': 'prospect-pages prospect-logs export --tenant "$TENANT" > logs.jsonl',
      'of one day':
        'prospect-pages prospect-logs export --tenant "$TENANT" --since 2026-11-22T00:00:00Z --until 2026-11-23T00:00:00Z',
    },
    format: { isLines: true },
    async *run({ texts }, open) {
      const [since, until] = [timeOf(texts, 'since'), timeOf(texts, 'until')]
      const { store } = await open()
      setFlagsFromString(SMALL)
      const { exportProspectLogs } = await import('../operations/export-prospect-logs.ts')
      yield* exportProspectLogs(store, { tenantId: texts['tenant'] ?? '', since, until })
    },
  },
]

const timeOf = (texts: Texts, option: 'since' | 'until'): string | null => {
  const given = texts[option]
  const what = 'a date-time with an offset, such as 2026-11-22T09:00:00Z'
  return given === undefined ? null : (utcOf(given) ?? wrongUse(`--${option} must be ${what}`))
}

const reportRefused = (refused: RefusedLine): void => {
  const { line, code, detail, errors = [] } = refused
  const faults = errors.map(({ pointer, detail }) => `; ${pointer} ${detail}`).join('')
  report(`line ${line}: ${detail}${faults} (${code})`, refused)
}
