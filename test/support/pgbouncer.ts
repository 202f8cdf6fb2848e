import { spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/** A PgBouncer of the test's own, in transaction mode, on a socket. */
export type ThrowawayPooler = {
  /** The address of a database, given the one at PostgreSQL itself. */
  readonly urlOf: (directUrl: string) => string
  readonly stop: () => Promise<void>
}

/** Few, so that the connections of the callers take turns. */
export const SERVER_CONNECTIONS = 3
const PORT = 6_432
const UNPRIVILEGED = 65_534

const pgbouncerBin = (): string | null =>
  [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
    .map((folder) => join(folder, 'pgbouncer'))
    .find((path) => existsSync(path)) ?? null

/** Why nothing can be tested through a pooler here; null where it can. With `POSTGRES_REQUIRED` it must. */
export const whyNoPgbouncer = (): string | null => {
  if (pgbouncerBin() !== null) return null
  if (process.env['POSTGRES_REQUIRED'])
    throw new Error('POSTGRES_REQUIRED is set and there is no PgBouncer here')
  return 'NO PGBOUNCER HERE: nothing was tested through a pooler'
}

/** Stands before the PostgreSQL on the socket in that folder. `more` are lines of its settings. */
export const startPgbouncer = async (postgresFolder: string, more = ''): Promise<ThrowawayPooler> => {
  const bin = pgbouncerBin()
  if (bin === null) throw new Error('there is no PgBouncer here')
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'prospect-pages-'))
  const settings = join(folder, 'pgbouncer.ini')
  writeFileSync(
    settings,
    `[databases]
* = host=${postgresFolder} port=5432 user=postgres
[pgbouncer]
unix_socket_dir = ${folder}
listen_port = ${PORT}
auth_type = any
pool_mode = transaction
default_pool_size = ${SERVER_CONNECTIONS}
max_client_conn = 500
${more}
`,
  )
  // PgBouncer refuses to run as root, and PostgreSQL's socket belongs to this same user.
  const asRoot = process.getuid?.() === 0
  if (asRoot) for (const path of [folder, settings]) chownSync(path, UNPRIVILEGED, UNPRIVILEGED)
  const child = spawn(bin, [settings], {
    ...(asRoot && { uid: UNPRIVILEGED, gid: UNPRIVILEGED }),
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  await new Promise<void>((resolve, reject) => {
    let said = ''
    child.stderr.on('data', (chunk) => {
      said += chunk
      if (said.includes('process up')) resolve()
    })
    child.once('error', reject)
    void ended.then(() => reject(new Error(`PgBouncer ended at once: ${said}`)))
  })
  return {
    urlOf: (directUrl) => {
      const { pathname } = new URL(directUrl)
      return `postgres://postgres@localhost:${PORT}${pathname}?host=${encodeURIComponent(folder)}`
    },
    stop: async () => {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
