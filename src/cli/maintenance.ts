import { readMigrations } from '../adapters/stores/migrations.ts'
import { type Config, readConfig } from '../config/config.ts'
import { database } from '../config/database-address.ts'
import type { Progress } from '../maintenance/move.ts'
import { type Command, type Shell, type Texts, valued, wrongUse } from './command.ts'
import { reportEverySecond, sizeOf, withCommand } from './output.ts'
import { databaseNames } from './refusals.ts'
import { serve } from './serve.ts'

const FORMS = { from: 'sqlite:PATH', to: 'postgres://…' }

/** Commands of an operator: the service itself, and the care of its database. */
export const operationCommands: readonly Command[] = [
  {
    words: 'serve',
    help: 'migrates, serves and publishes until SIGTERM or SIGINT; the default command',
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
    run: async (_input, _open, { env }) => {
      await serve(readConfig(env))
      return null
    },
  },
  {
    words: 'migrate',
    help: 'migrates the database to the schema of this version',
    details: [
      'An embedded database is backed up beside its file first. On PostgreSQL --dry-run migrates and rolls back, to',
      'find the locks: it takes them, for as long as the migration would. On a cluster it also distributes the tables and',
      'grants prospect_pages its privileges; if it is interrupted, run it again.',
    ],
    options: {
      'dry-run': { type: 'boolean', help: 'list the pending migrations and their locks' },
      distribute: {
        type: 'boolean',
        help: 'on a cluster: distribute tables that have rows, too. Writes to a table wait while it is copied',
      },
    },
    examples: { 'before the first server of a new release starts': 'prospect-pages migrate' },
    run: async ({ values }, open, shell) => {
      const config = readConfig(shell.env)
      const withRows = values['distribute'] === true
      if (withRows && !config.databaseCluster) wrongUse('--distribute is for a cluster: set DATABASE_CLUSTER')
      if (values['dry-run'] === true) {
        const { planMigration } = await import('../maintenance/plan-migration.ts')
        return { database: databaseNames({}, shell), ...(await planMigration(config)) }
      }
      const changes = config.databaseCluster
        ? await migrateNodes(config, withRows, shell)
        : { applied: await (await open('migrates')).store.migrate() }
      const isChanged = Object.values(changes).some((change) => change !== null && change.length > 0)
      const detail = isChanged ? 'migrated' : 'nothing to do: the schema is up to date'
      return { database: databaseNames({}, shell), ...changes, detail }
    },
  },
  {
    words: 'doctor',
    help: 'checks settings, database, disk, clock and naming server; changes nothing',
    details: ['Each check is ok, a warning or failed. The exit code is 1 if one failed.'],
    options: {
      thorough: { type: 'boolean', help: 'check every page of the embedded database, however large it is' },
    },
    examples: { 'what is wrong, if anything': 'prospect-pages doctor' },
    format: { list: 'checks' },
    run: async ({ values }, _open, shell) => {
      // Loaded here because a server does not need it.
      const { diagnose } = await import('../maintenance/doctor.ts')
      const diagnosis = await diagnose(shell.env, values['thorough'] === true)
      if (!diagnosis.ok) shell.exitCode = 1
      if (values['json'] || !shell.stdout.isTTY) return diagnosis
      return { checks: diagnosis.checks.map((check) => ({ ...check, detail: withSizes(check.detail) })) }
    },
  },
  {
    words: 'status',
    help: 'lists the problems of all tenants, each with a command that shows more or repairs it',
    details: ['The exit code is 1 if there is anything. Changes nothing, and waits for no lock.'],
    examples: { 'what needs attention': 'prospect-pages status' },
    run: async ({ values }, _open, shell) => {
      // Loaded here because a server does not need it.
      const { findAttention } = await import('../maintenance/findings.ts')
      const findings = await findAttention(readConfig(shell.env), Date.now())
      if (findings.length > 0) shell.exitCode = 1
      else if (shell.stdout.isTTY && !values['json']) shell.stdout.write('Nothing needs attention.\n')
      return findings.map((finding) => ({ ...finding, command: withCommand(finding.command, shell) }))
    },
  },
  {
    words: 'secrets reencrypt',
    help: 'encrypts the secrets of all webhook endpoints and hooks with SECRETS_KEY, while servers run',
    details: ['Before, set SECRETS_KEY_PREVIOUS to the old key. If it is interrupted, run it again.'],
    examples: { 'after SECRETS_KEY was replaced': 'prospect-pages secrets reencrypt' },
    run: async (_input, open, shell) => {
      const config = readConfig(shell.env)
      if (config.secretsKey === null) wrongUse('SECRETS_KEY is not set')
      const { reencryptSecrets } = await import('../maintenance/reencrypt-secrets.ts')
      const answer = await reencryptSecrets(config, await open())
      if (answer.undecipherable > 0) shell.exitCode = 1
      return answer
    },
  },
  {
    words: 'backup',
    help: 'copies the embedded database to a new file, even while a server is running',
    details: [
      'FILE must not exist. Without it the copy is made in BACKUP_DIR, as a server does: named after the time, passed to',
      'BACKUP_COMMAND, and the oldest beyond BACKUPS_KEPT are deleted.',
    ],
    operands: ['[FILE]'],
    options: {
      'if-due': { type: 'boolean', help: 'only if the newest in BACKUP_DIR is older than BACKUP_EVERY' },
    },
    examples: { 'a copy named after the minute': 'prospect-pages backup "copy-$(date +%F-%H%M).db"' },
    run: async ({ operands: [file], values }, _open, { env }) => {
      const config = readConfig(env)
      const isIfDue = values['if-due'] === true
      if (file?.trim() && isIfDue) return wrongUse('--if-due is for backups in BACKUP_DIR')
      if (file?.trim()) {
        const { backUp } = await import('../maintenance/backup.ts')
        return backUp(config.database, file)
      }
      // An empty one comes from a shell variable that is not set.
      if (file === '' || config.backupDir === null) return wrongUse('FILE is required without BACKUP_DIR')
      const { backUpIntoFolder } = await import('../maintenance/backup-folder.ts')
      const copy = backUpIntoFolder(config, config.backupDir, isIfDue)
      return copy ?? { skipped: 'no backup is due' }
    },
  },
  {
    words: 'restore',
    help: 'replaces the embedded database with a copy of a backup, and keeps the old file beside it',
    details: ['Stop the server first. The backup is checked before, and not changed.'],
    operands: ['FILE'],
    examples: { 'after the server was stopped': 'prospect-pages restore copy-2026-11-21-0300.db' },
    run: async ({ operands: [file = ''] }, _open, { env }) => {
      const { restore } = await import('../maintenance/restore.ts')
      return restore(readConfig(env).database, file)
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
    run: async ({ texts }, _open, shell) => {
      const from = addressOf(texts, 'from', shell)
      const to = addressOf(texts, 'to', shell)
      if (from.kind !== 'sqlite') return wrongUse(`--from must be ${FORMS.from}`)
      if (to.kind !== 'postgres') return wrongUse(`--to must be ${FORMS.to}`)
      const report = reportEverySecond(shell)
      // Each finished table counts as a step.
      const onProgress = ({ step, table, rows, rowsTotal }: Progress) => {
        const facts = { step, table, rows, of: rowsTotal }
        report(`${step} ${table}: ${rows} of ${rowsTotal}`, facts, rows >= rowsTotal)
      }
      // Loads the driver.
      const { moveToPostgres } = await import('../maintenance/move.ts')
      return { moved: true, ...(await moveToPostgres(from.path, to.url, onProgress, warnOn(shell))) }
    },
  },
]

const warnOn = (shell: Shell) => (warning: string) =>
  void shell.stderr.write(`${JSON.stringify({ warning })}\n`)

/** Migrates a cluster. Reports each table once it is distributed. */
const migrateNodes = async (config: Config, withRows: boolean, shell: Shell) => {
  const { database, databaseDirectUrl } = config
  const url = databaseDirectUrl ?? (database.kind === 'postgres' ? database.url : '')
  const report = reportEverySecond(shell)
  const onDistributed = (tables: readonly string[]) =>
    report(`distributed ${tables.join(', ')}`, { distributed: tables }, true)
  // Loads the driver.
  const { migrateCluster } = await import('../maintenance/cluster.ts')
  return migrateCluster(url, readMigrations('postgres'), warnOn(shell), { withRows, onDistributed })
}

/** Writes `1300000000 bytes` as 1.2 GiB. */
const withSizes = (detail: string): string =>
  detail.replace(/(\d{4,}) bytes/g, (_, bytes) => sizeOf(Number(bytes)))

const addressOf = (texts: Texts, option: keyof typeof FORMS, { env }: Shell) => {
  try {
    return database(texts[option] ?? '', env, FORMS[option])
  } catch (error) {
    const { message, parameter = `--${option}` } = error as Error & { parameter?: string }
    return wrongUse(`${parameter} ${message}`)
  }
}
