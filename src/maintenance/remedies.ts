import type { DatabaseAddress } from '../config/database-address.ts'
import type { NoWrites } from '../core/engine/obstacles.ts'

/** What an error says, and what to do about it; `clearerText` replaces a message that few would understand. */
export type Remedy = readonly [pattern: RegExp, remedy: string, clearerText?: string]

/** What to do about a database that takes no writes. */
const NO_WRITES: Readonly<Record<NoWrites, string>> = {
  standby: 'Point DATABASE_URL at the primary, or at a list of all servers.',
  read_only: 'Turn default_transaction_read_only off, for the database and for the role.',
  no_standby:
    'Start the synchronous standby again, or take it out of synchronous_standby_names and reload PostgreSQL.',
  no_privilege:
    'As the owner of the tables, run sql/roles.sql for the role in DATABASE_URL: prospect-pages doctor names what it lacks.',
  row_security: 'As the owner of the tables, turn row security off: prospect-pages doctor names the tables.',
  disk_full: 'Free some space on the disk of the database: see df -h.',
}
const NO_FILE_ACCESS =
  'Let this user write to the file and its folder, on a file system that is not read-only.'

export const noWritesRemedy = (reason: NoWrites, kind: DatabaseAddress['kind']): string =>
  reason === 'read_only' && kind === 'sqlite' ? NO_FILE_ACCESS : NO_WRITES[reason]

/**
 * Remedies for what PostgreSQL says, or the connection to it, by its messages. The first match counts. DATABASE_URL stands
 * for the setting or the option that has the address.
 */
export const POSTGRES_REMEDIES: readonly Remedy[] = [
  ...Object.entries(NO_WRITES).map(
    ([reason, remedy]): Remedy => [new RegExp(`no writes: ${reason}`), remedy],
  ),
  [/No space left on device|could not write init file/, NO_WRITES.disk_full],
  [/offers no TLS/, 'Turn on ssl there, or change sslmode in DATABASE_URL.'],
  [
    /^Hostname\/IP does not match/,
    'Write a host that the certificate names in DATABASE_URL, or sslmode=verify-ca.',
  ],
  [
    /^(.*self-signed certificate|unable to (?:verify|get)[^;]*).*$/,
    'Write sslrootcert=FILE in DATABASE_URL: the authority that signed the certificate.',
    'The certificate of PostgreSQL is not trusted: $1.',
  ],
  [/certificate has expired/, 'Renew the certificate of PostgreSQL.'],
  [/pg_hba.*, SSL encryption/, 'Correct the role in DATABASE_URL, or write sslmode=disable.'],
  [/pg_hba.*, no encryption/, 'Correct the role in DATABASE_URL, or write sslmode=require.'],
  [/^unrecognized config.* "(.*)"$/, 'Correct the parameter $1 in DATABASE_URL.'],
  [/^getaddrinfo \w+ (\S+)$/, 'Correct it in DATABASE_URL.', 'The host $1 is unknown.'],
  [/^connect (\w+) (\S+).*$/, 'Correct DATABASE_URL, or start PostgreSQL.', 'No connection to $2 ($1).'],
  [
    /^The database did not answer in time/,
    'Check that PostgreSQL is running, and that a firewall lets this machine reach the host in DATABASE_URL.',
  ],
  [/ takes no writes$/, 'Name the primary in DATABASE_URL, or promote one of its servers.'],
  [/unsupported startup parameter/, 'DATABASE_URL is a pooler: set DATABASE_POOLER=true.'],
  [/^permission .*schema/, 'As the owner of the tables, run prospect-pages migrate and sql/roles.sql.'],
  [/^permission denied/, 'Run this command as the owner of the tables, or grant part II of sql/roles.sql.'],
  [
    /^too many connections for (role|database) "(.*)"$/,
    'Lower DATABASE_CONNECTIONS_MAX, or raise the connection limit of the $1: see Connections in docs/deploying.md.',
  ],
  [
    /too many (clients|connections)|remaining connection slots/,
    'Lower DATABASE_CONNECTIONS_MAX, or raise max_connections: see Connections in docs/deploying.md.',
  ],
  [/^password auth|^role |pg_hba/, 'Correct the role and the password in DATABASE_URL.'],
  [/^database .* not exist/, 'Correct its name in DATABASE_URL, or create it with createdb.'],
]

/** A remedy as `doctor` prints it, after the finding on the same line. */
export const asClause = (remedy: string): string =>
  remedy.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase()).replace(/\.$/, '')

/** The clearer text and the remedy of the first row that matches. */
export const remedyIn = (rows: readonly Remedy[], message: string) => {
  const row = rows.find(([pattern]) => pattern.test(message))
  if (row === undefined) return null
  const [pattern, remedy, clearerText = '$&'] = row
  return {
    text: message.replace(pattern, clearerText),
    remedy: remedy.replace(/\$\d/g, (part) => message.replace(pattern, part)),
  }
}
