import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable, Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createLog } from '../../src/adapters/log.ts'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import type { Shell } from '../../src/cli/command.ts'
import { main } from '../../src/cli/main.ts'
import { createRuntime } from '../../src/compose/service.ts'
import { readConfig } from '../../src/config/config.ts'
import { createPageGroup } from '../../src/core/pages/create-page-group.ts'
import { SCOPES } from '../../src/core/ports/api-keys.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import { issueApiKey } from '../../src/core/tenants/issue-api-key.ts'
import {
  type SharedPostgres,
  sharedPostgres,
  startPostgres,
  type ThrowawayPostgres,
  whyNoPostgres,
} from './postgres.ts'

/**
 * The real program, as a separate process that knows only the environment it is given. `PROGRAM_BIN` names the built
 * one instead, and `PROGRAM_NODE` a Node for it that need not be able to run the tests.
 */
export const BIN =
  process.env['PROGRAM_BIN'] ?? fileURLToPath(new URL('../../src/cli/bin.ts', import.meta.url))
export const NODE = process.env['PROGRAM_NODE'] ?? process.execPath

/** Memory settings of `npm start`, the container and the unit for systemd: see SECURITY.md. */
const MEMORY = { NODE_OPTIONS: '--max-semi-space-size=32', MALLOC_MMAP_THRESHOLD_: '65536' }

export type Environment = Readonly<Record<string, string>>
export type LogLine = { readonly level: number; readonly msg: string } & Readonly<Record<string, unknown>>
export type Program = {
  readonly url: string
  readonly pid: number
  readonly stdout: () => string
  readonly stderr: () => string
  /** The lines on stderr. Throws if a line is not JSON. */
  readonly logs: () => LogLine[]
  /** Resolves once the database answers and is migrated. */
  readonly ready: () => Promise<void>
  /** Sends SIGTERM, and returns the exit code. */
  readonly stop: () => Promise<number | null>
  /** Sends SIGKILL, and waits until the process has ended. */
  readonly kill: () => Promise<void>
}
type Owner = { readonly teardown: (end: () => Promise<void>) => void }

const run = ([file = '', ...args]: readonly string[], env: Environment, cwd?: string) => {
  const child = spawn(file, args, {
    cwd,
    env: { ...inherited(), ...MEMORY, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text
    })
  // A command that reads nothing may end before it gets its input.
  child.stdin.on('error', () => {})
  return { child, output, ended }
}

/** The variables that a process needs to run fast and to be counted in the coverage, and no others. */
export const inherited = (): Environment =>
  Object.fromEntries(
    ['PATH', 'HOME', 'NODE_V8_COVERAGE', 'NODE_COMPILE_CACHE'].flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )

/**
 * Runs a command to its end, with `input` on stdin: in this process, unless it is a command of another program. Tests of
 * signals, locks and other matters of processes use `runProcess`.
 */
export const runCommand = async (
  args: readonly string[],
  env: Environment = {},
  input = '',
  bin: string = BIN,
) => {
  const isHere = process.env['PROGRAM_BIN'] === undefined && bin === BIN
  if (!isHere || (args[0] ?? 'serve') === 'serve') return runProcess(args, env, input, bin)
  const shell = shellOf({ ...inherited(), ...env }, input)
  await main(args, shell)
  return { code: Number(shell.exitCode ?? 0), stdout: shell.stdout.text(), stderr: shell.stderr.text() }
}

/** The process as a command sees it: an environment, a text to read, and streams that keep the output. */
export const shellOf = (env: Environment, input = '') => ({
  argv: [NODE, BIN],
  env,
  exitCode: undefined as Shell['exitCode'],
  stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]) as NodeJS.ReadStream,
  stdout: kept(),
  stderr: kept(),
  exit: (() => {}) as unknown as Shell['exit'],
  listenerCount: () => 0,
  off: () => process,
  once: () => process,
})
const kept = () => {
  const chunks: Buffer[] = []
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      chunks.push(chunk)
      done()
    },
  })
  return Object.assign(stream as NodeJS.WriteStream, { text: () => Buffer.concat(chunks).toString() })
}

/** Runs a command to its end in a separate process, with `input` on stdin. */
export const runProcess = async (
  args: readonly string[],
  env: Environment = {},
  input = '',
  bin: string = BIN,
) => {
  const { child, output, ended } = run([NODE, bin, ...args], env)
  child.stdin.end(input)
  const code = await ended
  return { code, ...output }
}

/** Starts the server and waits until it listens. Its process ends with the test, even if the test fails. */
export const startProgram = async (
  t: Owner,
  env: Environment,
  cwd?: string,
  line: readonly string[] = [NODE, BIN, 'serve'],
): Promise<Program> => {
  const { child, output, ended } = run(line, { HOST: '127.0.0.1', PORT: '0', ...env }, cwd)
  child.stdin.end()
  const kill = async () => {
    child.kill('SIGKILL')
    await ended
  }
  t.teardown(kill)
  const url = await new Promise<string>((resolve, reject) => {
    const findAddress = () => {
      // Logs may be turned off. Then the greeting of a first run shows the address.
      const port =
        /"port":(\d+).*"msg":"listening"/.exec(output.stderr) ?? /^URL=http:\S+:(\d+)$/m.exec(output.stdout)
      if (port === null) return
      // Every further search would join the whole output, which would slow down the test.
      for (const stream of [child.stdout, child.stderr]) stream.off('data', findAddress)
      resolve(`http://127.0.0.1:${port[1]}`)
    }
    child.stdout.on('data', findAddress)
    child.stderr.on('data', findAddress)
    void ended.then((code) => reject(new Error(`the server ended with ${code}: ${output.stderr}`)))
  })
  return {
    url,
    pid: child.pid ?? 0,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    logs: () => linesOf<LogLine>(output.stderr),
    ready: async () => {
      await until('the server is ready', async () => (await fetch(`${url}/readyz`)).ok)
    },
    stop: () => {
      child.kill('SIGTERM')
      return ended
    },
    kill,
  }
}

/** Starts the server and waits until it is ready. */
export const startServer = async (
  t: Owner,
  env: Environment,
  cwd?: string,
  line?: readonly string[],
): Promise<Program> => {
  const server = await startProgram(t, env, cwd, line)
  await server.ready()
  return server
}

/** Starts a server on a database with a tenant, a key and a page group. `call` uses that key. */
export const openServer = async <Database extends { readonly env: Environment }>(
  t: Owner,
  database: Database,
  more: Environment = {},
  seeding = seed,
) => {
  const seeded = await seeding(database.env)
  const server = await startServer(t, { ...database.env, ...more })
  const pagesPath = `/v0/page_groups/${seeded.pageGroupId}/pages`
  return { ...seeded, ...database, server, pagesPath, call: caller(server.url, seeded.apiKey) }
}

/** Parses JSON lines. Text after the last line end is ignored, because its line may be incomplete. */
export const linesOf = <Line>(text: string): Line[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

type Patience = { readonly tries?: number; readonly pauseMs?: number }
/** Repeats a question until the answer is truthy: by default for two minutes, which a busy machine may need. */
export const until = async <Answer>(
  what: string,
  ask: () => Answer | Promise<Answer>,
  { tries = 4_800, pauseMs = 25 }: Patience = {},
): Promise<Exclude<Answer, false | null | undefined>> => {
  for (let tried = 0; tried < tries; tried++) {
    const answer = await ask()
    if (answer) return answer as Exclude<Answer, false | null | undefined>
    await pause(pauseMs)
  }
  throw new Error(`still not so: ${what}`)
}

/** Calls the API of a server with a key. */
export const caller =
  (url: string, apiKey: string) =>
  async (method: string, path: string, body?: unknown, headers: Environment = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        'x-api-key': apiKey,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text === '' ? null : JSON.parse(text),
    }
  }

/** Creates a tenant, a key and a page group, without the time that three commands take. */
export const seed = async (env: Environment) => {
  const world = await createRuntime(readConfig(env), createLog('silent'))
  try {
    await world.store.migrate()
    return await newTenantIn(world)
  } finally {
    await world.store.close()
  }
}
export const newTenantIn = async (world: Awaited<ReturnType<typeof createRuntime>>) => {
  const { tenantId, brandId } = await createTenant(world)({ name: 'Tenant' })
  const key = await issueApiKey(world)({ tenantId, name: null, scopes: SCOPES, lifeMs: null })
  const { value: pageGroup } = await createPageGroup(world)({ tenantId, name: 'offers', title: 'Offers' })
  const { pageGroupId } = pageGroup
  return { tenantId, brandId, apiKey: key.apiKey, apiKeyId: key.apiKeyId, pageGroupId }
}

/** Creates the same by the command line of this program, or of another copy of it. */
export const seedByCommands = async (env: Environment, bin: string = BIN) => {
  const answer = (...args: string[]) => answerOf(args, env, '', bin)
  await answer('migrate')
  const { tenantId, brandId } = await answer('tenants', 'create', '--name', 'Tenant')
  const [{ apiKey, apiKeyId }, { pageGroupId }] = await Promise.all([
    answer('keys', 'create', '--tenant', tenantId),
    answer('api', 'POST', '/v0/page_groups', '{"name":"offers","title":"Offers"}', '--tenant', tenantId),
  ])
  return { tenantId, brandId, apiKey, apiKeyId, pageGroupId }
}

/** Returns the JSON object that a command prints. Throws if the command fails. */
export const answerOf = async (args: readonly string[], env: Environment, input?: string, bin?: string) => {
  const { code, stdout, stderr } = await runCommand(args, env, input, bin)
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}

/** A new, empty database, and a way to read it without the program. */
export type TestedDatabase = {
  readonly env: Environment
  readonly rows: <Row = Record<string, unknown>>(sql: string) => Promise<Row[]>
}
export type DatabaseKind<Server = unknown> = {
  readonly name: 'sqlite' | 'postgres'
  /** Why it cannot be tested here, or null. */
  readonly skip: string | null
  readonly open: (t: Owner) => Promise<TestedDatabase>
  /** The PostgreSQL server that holds the database. */
  readonly server: () => Promise<Server>
  readonly end: () => Promise<void>
}

export const databaseKinds = (): readonly DatabaseKind[] => [sqliteKind, postgresKind(sharedPostgres)]
/** The same kinds, with a separate PostgreSQL for test files that stop it. */
export const databaseKindsThatStop = (): readonly DatabaseKind<ThrowawayPostgres>[] => [
  sqliteKind,
  postgresKind(startPostgres),
]

const sqliteKind: DatabaseKind<never> = {
  name: 'sqlite',
  skip: null,
  open: async (t) => embeddedDatabase(join(newFolder(t), 'test.db')),
  server: () => Promise.reject(new Error('the embedded database has no server')),
  end: async () => {},
}

export const embeddedDatabase = (path: string): TestedDatabase => ({
  env: { DATABASE_URL: `sqlite:${path}` },
  rows: async <Row>(sql: string): Promise<Row[]> => {
    const file = new DatabaseSync(path)
    try {
      file.exec('pragma busy_timeout = 5000')
      return file.prepare(sql).all() as Row[]
    } finally {
      file.close()
    }
  },
})

const postgresKind = <Server extends Pick<SharedPostgres, 'newDatabase' | 'stop'>>(
  start: () => Promise<Server>,
): DatabaseKind<Server> => {
  let started: Promise<Server> | undefined
  const skip = whyNoPostgres()
  const server = () => {
    started ??= start()
    return started
  }
  return {
    name: 'postgres',
    skip,
    open: async () => databaseAt(await (await server()).newDatabase()),
    server,
    end: async () => (await started)?.stop(),
  }
}

/** A database of PostgreSQL, by its address. */
export const databaseAt = (url: string): TestedDatabase => ({
  env: { DATABASE_URL: url },
  rows: async <Row>(sql: string): Promise<Row[]> => {
    const connection = openPostgres(url, { max: 1, onnotice: () => {} })
    try {
      return [...(await connection.unsafe(sql))] as Row[]
    } finally {
      await connection.end()
    }
  },
})

/** A new folder, removed with the test. */
export const newFolder = (t: Owner): string => {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
  t.teardown(async () => rmSync(folder, { recursive: true, force: true }))
  return folder
}
