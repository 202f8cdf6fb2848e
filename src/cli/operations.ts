import { readConfig } from '../config/config.ts'
import { database } from '../config/settings.ts'
import type { Progress } from '../operations/move.ts'
import { type Command, type Texts, valued, wrongUse } from './command.ts'
import { reportEverySecond } from './output.ts'
import { databaseNames } from './refusals.ts'
import { serve } from './serve.ts'

const FORMS = { from: 'sqlite:PATH', to: 'postgres://…' }

/** What an operator runs: the service itself, and the care of its database. */
export const operationCommands: readonly Command[] = [
  {
    words: 'serve',
    help: 'migrates, serves and publishes until SIGTERM, SIGINT or SIGHUP; the default command',
    details: [
      'An embedded or memory database without any key first gets a tenant, a key and a page group;',
      'the key is printed together with calls to paste. Everything else is a setting.',
    ],
    options: { version: { type: 'boolean', short: 'v', help: 'print the version' } },
    examples: {
      'with an embedded database, on port 8080': 'prospect-pages serve',
      'with PostgreSQL, reachable from other machines':
        'HOST=0.0.0.0 DATABASE_URL=postgres://user:password@host/database prospect-pages serve',
    },
    run: async () => {
      await serve(readConfig(process.env))
      return null
    },
  },
  {
    words: 'migrate',
    help: 'brings the database to the schema of this program',
    examples: { 'before the first server of a new release starts': 'prospect-pages migrate' },
    run: async (_input, open) => {
      const applied = await (await open('migrates')).store.migrate()
      const detail = applied.length > 0 ? 'migrated' : 'nothing to do: the schema is up to date'
      return { database: databaseNames({}), applied, detail }
    },
  },
  {
    words: 'doctor',
    help: 'checks settings, database and naming server, also the disk or the clock of PostgreSQL; changes nothing',
    details: ['Each failed check says how to fix it, and the exit code is 1.'],
    options: {
      thorough: { type: 'boolean', help: 'check every page of the embedded database, however large it is' },
    },
    examples: { 'what is wrong, if anything': 'prospect-pages doctor' },
    format: { list: 'checks' },
    run: async ({ values }) => {
      const { diagnose } = await import('../operations/doctor.ts') // what serves needs none of it
      const diagnosis = await diagnose(process.env, values['thorough'] === true)
      if (!diagnosis.ok) process.exitCode = 1
      return diagnosis
    },
  },
  {
    words: 'backup',
    help: 'copies the embedded database to a new file, even while a server is running',
    details: ['FILE must not exist. To restore, stop the server and replace the database with the copy.'],
    operands: ['FILE'],
    examples: { 'a copy named after the minute': 'prospect-pages backup "copy-$(date +%F-%H%M).db"' },
    run: async ({ operands: [file = ''] }) => {
      const { backUp } = await import('../operations/backup.ts')
      return backUp(readConfig(process.env).database, file)
    },
  },
  {
    words: 'move',
    help: 'copies an embedded database into an empty PostgreSQL database',
    details: ['Stop the server first. If the move is interrupted, run it again.'],
    options: {
      from: valued(FORMS.from, 'the embedded database', { required: true }),
      to: valued(FORMS.to, 'an empty database, as a role that may create tables', { required: true }),
    },
    examples: {
      'move to PostgreSQL, with both addresses set':
        'prospect-pages move --from "$DATABASE_URL" --to "$NEW_DATABASE_URL"',
    },
    run: async ({ texts }) => {
      const from = addressOf(texts, 'from')
      const to = addressOf(texts, 'to')
      if (from.kind !== 'sqlite') return wrongUse(`--from must be ${FORMS.from}`)
      if (to.kind !== 'postgres') return wrongUse(`--to must be ${FORMS.to}`)
      const warn = (warning: string) => process.stderr.write(`${JSON.stringify({ warning })}\n`)
      const report = reportEverySecond()
      // Each finished table counts as a step.
      const onProgress = (progress: Progress) => {
        const { step, table, rows, of } = progress
        report(`${step} ${table}: ${rows} of ${of}`, progress, rows >= of)
      }
      const { moveToPostgres } = await import('../operations/move.ts') // brings the driver
      return { moved: true, ...(await moveToPostgres(from.path, to.url, onProgress, warn)) }
    },
  },
]

const addressOf = (texts: Texts, option: keyof typeof FORMS) => {
  try {
    return database(texts[option] ?? '')
  } catch (error) {
    return wrongUse(`--${option} ${(error as Error).message.replace(/postgres.*?memory:/, FORMS[option])}`)
  }
}
