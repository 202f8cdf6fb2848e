// Runs the programs of docs/library.md and the command line on Bun and Deno, as bundles, and mounted in NestJS and Hono, in
// folders where npm has installed the package and each of them. `node test/runtimes/run.ts`; needs npm's registry, and skips
// what it cannot get.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { mustServe } from '../support/must-serve.ts'
import {
  compile,
  emptyDatabase,
  isHere,
  type Program,
  pack,
  programs,
  run,
  runProgram,
  saveProgram,
  unusedPort,
} from '../support/packed.ts'
import { whyNoPostgres } from '../support/postgres.ts'
import { startServer } from '../support/program.ts'

t.setTimeout(0)

const NODE = { command: [process.execPath], tests: [] }
const BUN = { command: ['bun'], tests: ['bun', 'test'] }
const DENO = { command: ['deno', 'run', '-A'], tests: ['deno', 'test', '-A', '--no-check'] }
const named = (...names: string[]) => programs().filter(({ name }) => names.includes(name))
const HERE = programs().filter(isHere)
const FRAMEWORKS = programs().filter(({ imports }) =>
  imports.some((from) => /^(express|fastify)$/.test(from)),
)
const TRIALS = [
  { name: 'Bun', packages: ['bun', 'express', 'fastify'], runtime: BUN, files: [...HERE, ...FRAMEWORKS] },
  { name: 'Deno', packages: ['deno', 'express', 'fastify'], runtime: DENO, files: [...HERE, ...FRAMEWORKS] },
  {
    name: 'Express and Fastify',
    packages: ['express', 'fastify', '@types/express', '@types/node@24'],
    runtime: NODE,
    files: FRAMEWORKS,
  },
  {
    name: 'esbuild',
    packages: ['esbuild'],
    runtime: NODE,
    files: named('first.mjs', 'webhooks.mjs', 'server.mjs', 'orders.mjs', 'program.cjs'),
  },
  {
    name: 'NestJS',
    packages: ['@nestjs/core', '@nestjs/common', '@nestjs/platform-express', 'reflect-metadata', 'rxjs'],
    runtime: NODE,
    files: named('server.mjs', 'nest.mjs'),
  },
  {
    name: 'Hono',
    packages: ['hono', '@hono/node-server'],
    runtime: NODE,
    files: named('server.mjs', 'hono.mjs'),
  },
]

const archive = await pack(t)
/** The settings of the registry: its address and proxy, for example. */
const npmSettings = process.env as Record<string, string>
const temporaryFolder = (t: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Installs the package beside others; skips the test if the registry has them not. */
const isInstalled = async (t: Test, name: string, cwd: string, packages: readonly string[]) => {
  const flags = ['--no-audit', '--no-fund', '--fetch-timeout=60000', '--fetch-retries=1']
  const why = await run('npm', ['install', ...flags, archive, ...packages], { cwd, env: npmSettings }).then(
    () => null,
    (error: unknown) => error,
  )
  if (why === null) return true
  t.comment(`NOT TESTED WITH ${name.toUpperCase()}: ${why}`)
  t.pass('skipped', { skip: `npm cannot install ${packages.join(' ')}` })
  return false
}

for (const { name, packages, runtime, files } of TRIALS)
  t.test(`the package works with ${name}`, async (t) => {
    const folder = temporaryFolder(t)
    const env = { PATH: `${join(folder, 'node_modules/.bin')}:${process.env['PATH']}` }
    if (!(await isInstalled(t, name, folder, packages))) return
    // A bundle runs where nothing is installed.
    const isBundled = name === 'esbuild'
    const cwd = isBundled ? temporaryFolder(t) : folder
    const { command, tests } = runtime
    let apiKey = ''
    for (const program of files) {
      if (program.imports.includes('postgres') && whyNoPostgres()) continue
      const port = unusedPort()
      saveProgram(folder, program, port)
      if (isBundled) await bundle(program, folder, cwd, env)
      const database = program.imports.includes('postgres') ? await emptyDatabase(t) : {}
      const runner = program.imports.includes('node:test') ? tests : command
      const surroundings = { cwd, env: { ...env, ...database } }
      const { stdout, url } = await runProgram(t, [...runner, `./${program.name}`], port, surroundings)
      apiKey = /pp_\w{36}/.exec(stdout)?.[0] ?? apiKey
      if (url !== null) await mustServe(t, url, apiKey)
      else t.match(stdout, /./, `${program.name} came to its end`)
      if (program.text.includes("'/echo'")) await mustEcho(t, `${url}`)
    }
    if (packages.includes('@types/express')) await t.resolves(compile(folder))
    if (runtime !== NODE) await commandLine(t, command, folder, env)
    if (isBundled) await bundledConsole(t, folder, env)
  })

/** A framework still parses the bodies of other routes. */
const mustEcho = async (t: Test, url: string) => {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(new URL('/echo', url), { method: 'POST', body: '{"a":1}', headers })
  t.strictSame(await answer.json(), { a: 1 })
}

/** A bundle lacks the console's files, and the folder `console` above it is another program's. */
const bundledConsole = async (t: Test, folder: string, env: { PATH: string }) => {
  const above = temporaryFolder(t)
  const to = join(above, 'a/b/c')
  mkdirSync(join(above, 'console'))
  writeFileSync(join(above, 'console/index.html'), 'another program')
  for (const name of ['console.mjs', 'console.cjs']) {
    writeFileSync(join(folder, name), WITH_CONSOLE)
    await bundle({ name, text: '', imports: [] }, folder, to, env)
    const { stdout } = await runProgram(t, [process.execPath, `./${name}`], 0, { cwd: to })
    t.match(stdout, /^There is no \/console\/, because its files are missing[^\n]*\n404 200\n$/, name)
  }
}

const WITH_CONSOLE = `
import { createApi } from 'prospect-pages/http'
import { sqliteStore } from 'prospect-pages/sqlite'
console.warn = console.log
const store = sqliteStore({ path: ':memory:' })
store.migrate().then(async () => {
  const api = createApi({ store, docs: true, console: true })
  const answers = ['/console/', '/docs'].map((target) => api({ method: 'GET', target, headers: {} }))
  console.log(...(await Promise.all(answers)).map(({ status }) => status))
})
`

t.test('clients that generators make from the OpenAPI document compile', async (t) => {
  const cwd = temporaryFolder(t)
  const packages = [
    'orval@7',
    '@hey-api/openapi-ts@0.82',
    '@hey-api/client-fetch',
    'typescript@5.9',
    '@types/node@22',
  ]
  if (!(await isInstalled(t, 'generators', cwd, packages))) return
  const document = join(import.meta.dirname, '../../src/adapters/http/openapi.json')
  const env = { PATH: `${join(cwd, 'node_modules/.bin')}:${process.env['PATH']}` }
  const strict = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--target',
    'es2022',
    '--moduleResolution',
    'bundler',
    '--module',
    'esnext',
  ]
  for (const [generator, line, file] of [
    ['orval', ['--input', document, '--output', 'orval.ts', '--client', 'fetch'], 'orval.ts'],
    [
      'openapi-ts',
      ['--input', document, '--output', 'hey', '--client', '@hey-api/client-fetch'],
      'hey/sdk.gen.ts',
    ],
  ] as const) {
    await t.resolves(run(generator, line, { cwd, env }), generator)
    await t.resolves(run('tsc', [...strict, file], { cwd, env }), file)
  }
})

/** Versions that docs/library.md says are supported, with the flags that each needs. */
const COMPILERS = [
  ['5.4', ['--skipLibCheck'], 'nodenext node16 bundler'],
  ['5.7', [], 'nodenext node16 bundler'],
  ['5.8', [], 'nodenext node16 bundler commonjs'],
  ['5.9', [], 'nodenext node16 bundler commonjs'],
] as const
t.test('programs compile with each supported TypeScript', async (t) => {
  const cwd = temporaryFolder(t)
  const packages = COMPILERS.map(([version]) => `typescript-${version}@npm:typescript@${version}`)
  if (!(await isInstalled(t, 'TypeScript', cwd, ['@types/node@22', ...packages]))) return
  for (const ending of ['mts', 'cts']) writeFileSync(join(cwd, `typed.${ending}`), TYPED)
  for (const [version, flags, ways] of COMPILERS)
    for (const way of ways.split(' ')) {
      const file = way === 'commonjs' ? 'typed.cts' : 'typed.mts'
      const resolution = way === 'commonjs' ? 'nodenext' : way
      const module = way === 'bundler' ? 'esnext' : resolution
      const options = ['--module', module, '--moduleResolution', resolution, '--target', 'es2022', ...flags]
      const compiler = join(cwd, `node_modules/typescript-${version}/lib/tsc.js`)
      const line = [compiler, '--noEmit', '--strict', '--types', 'node', ...options, file]
      await t.resolves(run(process.execPath, line, { cwd }), `TypeScript ${version}, ${way}`)
    }
})
const TYPED = `
import { createService, memoryStore } from 'prospect-pages'
import { createClient } from 'prospect-pages/client'
import { createApi, createHandler } from 'prospect-pages/http'
import { postgresStore } from 'prospect-pages/postgres'
import { startBackground } from 'prospect-pages/publisher'
import { sqliteStore } from 'prospect-pages/sqlite'
import { storeContract } from 'prospect-pages/store-contract'
const store = memoryStore()
const { logProspectActivity } = createService({ store })
createHandler(createApi({ store }))
// The compiler must see the types: without them everything would compile.
// @ts-expect-error
logProspectActivity({ source: 1 })
`

const bundle = ({ name }: Program, folder: string, to: string, env: { PATH: string }) => {
  const format = name.endsWith('.cjs') ? 'cjs' : 'esm'
  const flags = ['--bundle', '--platform=node', `--format=${format}`, `--outfile=${join(to, name)}`]
  return run('esbuild', [name, ...flags], { cwd: folder, env })
}

/** A server that is used from the command line, and ends at SIGTERM. */
const commandLine = async (t: Test, command: readonly string[], cwd: string, PATH: { PATH: string }) => {
  const env = { ...PATH, DATABASE_URL: 'sqlite:data/served.db' }
  writeFileSync(join(cwd, 'where.mjs'), 'console.log(process.execPath)')
  const [file = '', ...args] = command
  // npm may put a script into the path that starts the program, and forwards no signal.
  const executable = (await run(file, [...args, 'where.mjs'], { cwd, env })).trim()
  t.match(basename(executable), file)
  const line = [...args, 'node_modules/prospect-pages/bin/prospect-pages.js']
  const answer = async (...words: string[]) =>
    JSON.parse(await run(executable, [...line, ...words], { cwd, env }))
  const server = await startServer(t, env, cwd, [executable, ...line, 'serve'])
  const { tenantId } = await answer('tenants', 'list')
  const { apiKey } = await answer('keys', 'create', '--tenant', tenantId)
  const groups = await fetch(`${server.url}/v0/page_groups`, { headers: { 'x-api-key': apiKey } })
  t.equal(groups.status, 200)
  writeFileSync(join(cwd, 'client.mjs'), CLIENT)
  const called = { cwd, env: { ...env, URL: server.url, KEY: apiKey } }
  t.equal(await run(executable, [...args, 'client.mjs'], called), 'true true invalid_signature\n')
  t.match(await answer('doctor'), { ok: true })
  t.match(await answer('backup', 'backup.db'), { file: 'backup.db' })
  t.equal(await server.stop(), 0)
  t.match(server.stderr(), /"msg":"stopped"/)
}

const CLIENT = `
import { createClient } from 'prospect-pages/client'
const client = createClient({ url: process.env.URL, key: process.env.KEY })
const activity = { source: 'crm', payload: {} }
const { receipt } = await client.logActivity(activity)
const buffer = client.buffer({ ms: 10 })
const logged = await buffer.log(activity)
const headers = { 'webhook-timestamp': String(Date.now() / 1000), 'webhook-signature': 'v1,' + 'A'.repeat(43) + '=' }
const { code } = await client.verifyWebhook({ secrets: 'whsec_AAAA', headers, body: '{}' }).catch((error) => error)
console.log(receipt.createdProspect, logged.receipt.createdProspect, code)
`
