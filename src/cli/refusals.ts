import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { escaped, jsonFor } from '../adapters/escaped.ts'
import { readConfig } from '../config/config.ts'
import { database, nameOf } from '../config/database-address.ts'
import type { Obstacle } from '../core/engine/failures.ts'
import { DomainFailure, isUnavailable } from '../core/engine/failures.ts'
import { obstacleOf, obstructed } from '../core/engine/obstacles.ts'
import { orNull } from '../core/engine/or-null.ts'
import { POSTGRES_REMEDIES, type Remedy, remedyIn } from '../maintenance/remedies.ts'
import { type Command, type Shell, type Texts, WrongUse } from './command.ts'
import { usageHint } from './help.ts'
import { inPairs, paint, withCommand } from './output.ts'

/** Remedies for errors of `move` by their messages. They precede those below. */
const REMEDIES_OF_MOVE: readonly Remedy[] = [
  [/^unsupported startup.*$/, '--to must be PostgreSQL itself.', '--to is a connection pooler.'],
  [/^permission denied/, "In --to, use the owner's role: it must be able to create tables."],
]
/** Remedies for errors of what creates tables, by their messages. They precede those below. */
const REMEDIES_OF_MIGRATING: readonly Remedy[] = [
  [
    /^permission denied for schema (\S+)$/,
    'As an administrator, run grant create, usage on schema $1 to that role, or use the role that owns the tables.',
  ],
]
/** They precede those below, because `serve` waits for a database whose host is unknown. */
const REMEDIES_OF_SERVING: readonly Remedy[] = [
  [/^getaddrinfo \w+ (\S+)$/, 'Correct it in HOST.', 'The host $1 is unknown.'],
  ...REMEDIES_OF_MIGRATING,
]
/** Remedies for errors by their messages. The first match counts. */
const REMEDIES: readonly Remedy[] = [
  [/^listen EADDRINUSE.* (\S+)$/, 'Set PORT to another port.', '$1 is already in use.'],
  [/^listen EACCES.* (\S+)$/, 'Set PORT to 1024 or higher.', 'This user may not listen on $1.'],
  [/^listen EADDRNOTAVAIL.* (\S+):\d+$/, 'Correct HOST.', '$1 is not an address of this machine.'],
  ...POSTGRES_REMEDIES,
  [/was not restored/, 'Choose another backup.'],
  [/of another program/, 'Name another file in DATABASE_URL.'],
  [/not a database|malformed/, 'Correct DATABASE_URL, or restore a backup.'],
  [
    /lock timeout/,
    'Let the long transactions end (see pg_stat_activity), then retry.',
    'A table stayed locked.',
  ],
  [/disk is full|^ENOSPC/, 'Free some space on that disk, or use another one: see df -h.'],
  [/^unable to open|readonly|disk I/, 'DATABASE_URL must name a file that this user can read and write.'],
  [/^EEXIST: .* '(.*)'$/, 'Name a file in a folder that exists.', '$1 is not a folder.'],
  [/^ENOTDIR: .* '(.*)\/.*'$/, 'Name a file in a folder that exists.', '$1 is not a folder.'],
  [/^ENOENT: (.*), \w+ '(.*)\.unfinished.*'$/, 'Correct the path. Its folder must exist.', '$2: $1.'],
  [/^ENOENT: (.*), \w+ '(.*)'$/, 'Correct the path: no such file exists.', '$2: $1.'],
  [/^E[A-Z]+: (.*), \w+ '(.*)'$/, 'Check the path and its permissions.', '$2: $1.'],
]

/** By the command that failed. */
const REMEDIES_BEFORE: Readonly<Record<string, readonly Remedy[]>> = {
  move: REMEDIES_OF_MOVE,
  migrate: REMEDIES_OF_MIGRATING,
  serve: REMEDIES_OF_SERVING,
}

/** Remedies for errors with a known kind. A database that takes no writes says why in its message. */
const REMEDY_OF: Readonly<Record<Exclude<Obstacle, 'takes_no_writes'>, string>> = {
  not_migrated: 'If this is the right database, run prospect-pages migrate as the owner of the tables.',
  newer_database: 'Install that release or a newer one, or restore a backup from before.',
  unreleased_database: 'Export its data with that version, then use a new database.',
  no_source: 'Correct --from.',
  no_database_file: 'Correct the path, or run prospect-pages migrate to create it.',
  no_folder: 'Name a file in a folder that exists.',
  no_room:
    'Free some space there (df -h), or use another disk. BACKUP_BEFORE_MIGRATION=off migrates without a copy.',
  wrong_settings: 'prospect-pages --help lists every setting.',
  unknown_tenant: 'prospect-pages tenants list shows all tenants.',
  unknown_api_key: 'prospect-pages keys list --tenant T shows the keys of a tenant.',
}
const IF_UNAVAILABLE = 'Check that the database is running, then retry.'

/** The prefix of an error of the direct connection. */
const DIRECT = /DATABASE_DIRECT_URL: /

type Explanation = { readonly text: string; readonly remedy: string | undefined }

/** An error in words, and its remedy. `command`: the words of the command that failed. */
export const explain = (error: unknown, command: string, shell?: Shell): Explanation => {
  // The driver tries each address of a host.
  const [first = error] = error instanceof AggregateError ? error.errors : []
  const message = (first instanceof Error ? first.message : String(first)).replace(DIRECT, '')
  const [, deniedPath] = /^E(?:ACCES|PERM): .*, \w+ '(.*)'$/.exec(message) ?? []
  if (deniedPath !== undefined) return explainDenied(deniedPath)
  const isDirect = DIRECT.test(String(error))
  const { text, remedy } = explainMessage(error, message, command)
  return {
    text: isDirect ? `DATABASE_DIRECT_URL: ${text}` : text,
    remedy: remedy && withCommand(withPlaces(remedy, command, isDirect), shell),
  }
}

const explainMessage = (error: unknown, message: string, command: string): Explanation => {
  const obstacle = obstacleOf(error)
  if (obstacle && obstacle !== 'takes_no_writes') return { text: message, remedy: REMEDY_OF[obstacle] }
  const explained = remedyIn([...(REMEDIES_BEFORE[command] ?? []), ...REMEDIES], message)
  return explained ?? { text: message, remedy: isUnavailable(error) ? IF_UNAVAILABLE : undefined }
}

/** Names in a remedy what this user can change: an option of `move`, or the direct address. */
const withPlaces = (remedy: string, command: string, isDirect: boolean): string => {
  if (command === 'move')
    return remedy.replace('DATABASE_URL', /file|backup/.test(remedy) ? '--from' : '--to')
  return isDirect ? remedy.replace('DATABASE_URL', 'DATABASE_DIRECT_URL') : remedy
}

/** Names the user without access to a path, the owner, and the command that changes that. It may be a folder above. */
const explainDenied = (path: string): Explanation => {
  let place = resolve(path)
  while (orNull(() => statSync(place)) === null) place = dirname(place)
  const { uid, gid, mode } = statSync(place)
  const ourUid = process.getuid?.() ?? 0
  const octalMode = (mode & 0o7777).toString(8)
  const quoted = `'${place.replaceAll("'", `'\\''`)}'`
  return {
    text: `User ${ourUid} may not use ${place}: it belongs to user ${uid} and group ${gid}, and its mode is ${octalMode}.`,
    remedy: uid === ourUid ? `Run chmod u+rwX ${quoted}.` : `As root, run chown ${ourUid} ${quoted}.`,
  }
}

/** A server waits until an operator fixes these, so they are `unavailable`. A retried command fails again. */
const LASTING = /^(DATABASE_DIRECT_URL: )?database .* not exist/
const withoutRetry = (why: unknown): unknown => {
  if (!isUnavailable(why)) return why
  const obstacle = obstacleOf(why)
  if (obstacle) return obstructed(obstacle, why.message)
  return why.cause instanceof Error && LASTING.test(why.cause.message) ? why.cause : why
}

/** Why a command was refused, for stderr: one JSON object, or sentences on a terminal. */
export const refusalText = (
  thrown: unknown,
  isJson: boolean,
  command?: Command,
  database?: string,
  shell: Shell = process,
): string => {
  const why = withoutRetry(thrown)
  const failure = why instanceof DomainFailure ? why : undefined
  const isWrongUse = why instanceof WrongUse
  const code = isWrongUse ? 'wrong_use' : (failure?.kind ?? 'refused')
  const words = command?.words ?? ''
  const { text: detail, remedy: remedyOfDetail } = explain(why, words, shell)
  const explainedCause = failure?.cause ? explain(failure.cause, words, shell) : undefined
  const cause = explainedCause?.text
  const remedy = explainedCause?.remedy ?? (isWrongUse ? usageHint(command, shell) : remedyOfDetail)
  const facts = failure?.facts
  if (isJson) {
    const json = JSON.stringify({ code, detail, cause, ...facts, database, remedy })
    return `${jsonFor(process.stderr, json)}\n`
  }
  const start = paint('red', isWrongUse ? 'prospect-pages:' : 'refused:', shell.stderr)
  const first = `${start} ${escaped(detail)}${failure ? ` (${code})` : ''}\n`
  const faults = (facts?.errors ?? []).map((fault) => [
    escaped(`  ${fault.parameter ?? fault.pointer}`),
    escaped(fault.detail),
  ])
  const more = [cause && escaped(cause), database && `database: ${escaped(database)}`, remedy]
  return first + inPairs(faults, shell.stderr) + more.map((text) => (text ? `${text}\n` : '')).join('')
}

/** The databases that a command uses, without passwords; undefined if the settings are invalid. */
export const databaseNames = (
  texts: Texts,
  { env }: Pick<Shell, 'env'>,
  why?: unknown,
): string | undefined => {
  const isDirect = DIRECT.test(String((why as Error | undefined)?.cause ?? why))
  const direct = isDirect ? env['DATABASE_DIRECT_URL'] : undefined
  const named = direct ? [direct] : ['from', 'to'].flatMap((option) => texts[option] ?? [])
  const addresses = () =>
    named.length > 0 ? named.map((text) => database(text, env)) : [readConfig(env).database]
  return orNull(() => addresses().map(nameOf).join(' and ')) ?? undefined
}
