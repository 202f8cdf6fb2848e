import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { outputOf } from './children.ts'
import { placeOf } from './place.ts'
import { sharedPostgres } from './postgres.ts'
import { inherited } from './program.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const INSTALLED = join(ROOT, 'node_modules')
/** The files that the package is made from; it needs nothing else of the checkout. */
const SOURCES = [
  ...['package.json', 'tsconfig.json', 'README.md', 'SECURITY.md', 'CHANGELOG.md', 'LICENSE'],
  ...['bin', 'deploy', 'docs', 'src', 'sql'],
  ...['test/store-contract', 'test/support/doc-comments.js', 'test/support/published.js'],
]

type Owner = { readonly teardown: (end: () => void) => void }

/** The package as `npm pack` makes it of a copy of the sources: the path of its archive. Removed with the test. */
export const pack = async (t: Owner): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const sources = join(folder, 'sources')
  for (const source of SOURCES) cpSync(join(ROOT, source), join(sources, source), { recursive: true })
  symlinkSync(INSTALLED, join(sources, 'node_modules'))
  mkdirSync(join(sources, 'deploy/secrets'))
  for (const file of ['.env', 'secrets/secrets_key']) writeFileSync(join(sources, 'deploy', file), 'secret')
  const printed = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: sources })
  const [{ filename }] = JSON.parse(printed.slice(printed.indexOf('[\n'))) as [{ filename: string }]
  return join(folder, filename)
}

/**
 * An empty folder with the package installed in it, beside the other packages that are named. Those are the checkout's
 * own, so that nothing is fetched; one that is not named cannot be found.
 */
export const install = async (t: Owner, archive: string, packages: readonly string[]): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  await run('tar', ['-xzf', archive, '-C', modules])
  renameSync(join(modules, 'package'), join(modules, 'prospect-pages'))
  for (const name of packages) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(INSTALLED, name), join(modules, name))
  }
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  return folder
}

/** The names of what the package depends on at run time. */
export const dependencies = (): readonly string[] =>
  Object.keys(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).dependencies)

/** A program that a document shows as a block of JavaScript or TypeScript. */
export type Program = { readonly name: string; readonly text: string; readonly imports: readonly string[] }

/** The programs of the documents that embedders read. The first line of each names its file: `// server.mjs`. */
export const programs = (): readonly Program[] =>
  ['README.md', 'docs/library.md'].flatMap((document) => {
    const blocks = readFileSync(join(ROOT, document), 'utf8').matchAll(
      /^```[cm]?(js|ts)\b.*\n([\s\S]*?)^```$/gm,
    )
    return [...blocks].map(([, kind = '', text = ''], i) => {
      const unnamed = `${basename(document, '.md')}-${i + 1}.m${kind}`
      const [, name = unnamed] = /^\/\/ ([\w-]+\.[cm]?[jt]s)$/m.exec(text) ?? []
      const imports = [...text.matchAll(/(?:\bfrom |\bimport |\brequire\()'([^']+)'/g)].map(
        ([, from = '']) => from,
      )
      return { name, text, imports }
    })
  })

/** Not in the checkout: `node test/runtimes/run.ts` installs them, and tests the programs that import them. */
export const ELSEWHERE = /^(express|fastify|hono|@hono\/node-server|@nestjs\/\w+)\b/
export const isHere = ({ imports }: Program) => !imports.some((from) => ELSEWHERE.test(from))

/** A PostgreSQL with an empty database, as variables of the environment. */
export const emptyDatabase = async (t: Owner) => {
  const server = await sharedPostgres()
  t.teardown(server.stop)
  const url = await server.newDatabase()
  return {
    PGHOST: placeOf(url).folder,
    PGDATABASE: new URL(url).pathname.slice(1),
    PGUSER: 'postgres',
  }
}

/** Their servers listen on port 3000. */
export const saveProgram = (folder: string, { name, text }: Program, port = 3_000): void =>
  writeFileSync(join(folder, name), text.replaceAll('3000', String(port)))

/** The compiler of the checkout over the programs in the folder; throws what it finds. */
export const compile = (folder: string): Promise<string> => {
  const options = {
    target: 'es2023',
    module: 'nodenext',
    types: ['node'],
    allowJs: true,
    checkJs: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['.'] }))
  return run(join(INSTALLED, '.bin/tsc'), ['-p', folder])
}

type Surroundings = { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> }

const start = (command: string, args: readonly string[], { cwd, env }: Surroundings) =>
  spawn(command, args, { cwd, env: { ...inherited(), ...env }, stdio: ['ignore', 'pipe', 'pipe'] })

/** Runs a command to its end: its stdout; throws what it printed where it fails. */
export const run = (
  command: string,
  args: readonly string[],
  surroundings: Surroundings = {},
): Promise<string> => outputOf(start(command, args, surroundings))

/** Runs a program of the folder to its end; the JSON that it printed. */
export const answerOf = async (folder: string, program: string, env = {}): Promise<unknown> =>
  JSON.parse(await run(process.execPath, [program], { cwd: folder, env }))

/** A port that no socket gets unless it asks for it by number. */
export const unusedPort = (): number => 20_000 + randomInt(12_000)

type Outcome = { readonly stdout: string; readonly url: string | null }

/**
 * Runs a program with `command` until it ends, or until it prints the address that it serves; ends it with the test. Throws
 * what it printed if it fails.
 */
export const runProgram = async (
  t: Owner,
  command: readonly string[],
  port: number,
  surroundings: Surroundings,
) => {
  const [executable = '', ...args] = command
  const child = start(executable, args, surroundings)
  t.teardown(() => child.kill('SIGKILL'))
  let [stdout, stderr] = ['', '']
  return new Promise<Outcome>((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      stderr += chunk
    })
    child.stdout.on('data', (chunk) => {
      stdout += chunk
      const [url] = new RegExp(`http://127.0.0.1:${port}[\\w/]*(?=\\n)`).exec(stdout) ?? []
      if (url !== undefined) resolve({ stdout, url: url.replace(/\/docs$/, '') })
    })
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve({ stdout, url: null })
      else reject(new Error(`${command.join(' ')} ended with ${code}: ${stderr}`))
    })
  })
}
