import { type ChildProcess, spawn } from 'node:child_process'
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
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { outputOf } from './children.ts'
import { inherited } from './program.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const INSTALLED = join(ROOT, 'node_modules')
/** What the package is made from; the rest of the checkout is not needed for it. */
const SOURCES = [
  ...['package.json', 'tsconfig.json', 'README.md', 'CHANGELOG.md', 'LICENSE', 'src', 'sql'],
  'test/store-contract',
]

type Owner = { readonly teardown: (end: () => void) => void }

/** The package as `npm pack` makes it of a copy of the sources: the path of its archive. Removed with the test. */
export const pack = async (t: Owner): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const sources = join(folder, 'sources')
  for (const source of SOURCES) cpSync(join(ROOT, source), join(sources, source), { recursive: true })
  symlinkSync(INSTALLED, join(sources, 'node_modules'))
  const said = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: sources })
  const [{ filename }] = JSON.parse(said.slice(said.indexOf('[\n'))) as [{ filename: string }]
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

export const examplesIn = (folder: string): void =>
  cpSync(join(ROOT, 'test/examples'), folder, { recursive: true })

/** The compiler of the checkout over the folder; throws what it finds. */
export const compile = (folder: string): Promise<string> => run(join(INSTALLED, '.bin/tsc'), ['-p', folder])

type Surroundings = { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> }

const start = (command: string, args: readonly string[], { cwd, env }: Surroundings) =>
  spawn(command, args, { cwd, env: { ...inherited(), ...env }, stdio: ['ignore', 'pipe', 'pipe'] })

/** Runs a command to its end: its stdout; throws what it said where it fails. */
const run = (command: string, args: readonly string[], surroundings: Surroundings = {}): Promise<string> =>
  outputOf(start(command, args, surroundings))

/** Runs a program of the folder to its end; the JSON that it printed. */
export const answerOf = async (folder: string, program: string, env = {}): Promise<unknown> =>
  JSON.parse(await run(process.execPath, [program], { cwd: folder, env }))

/** What a server of the folder printed once it served. It is ended with the test. */
export const serverOf = async <Printed>(t: Owner, folder: string, program: string): Promise<Printed> => {
  const child: ChildProcess = start(process.execPath, [program], { cwd: folder, env: { PORT: '0' } })
  t.teardown(() => child.kill('SIGKILL'))
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said += chunk
  })
  if (child.stdout === null) throw new Error('no stdout')
  for await (const line of createInterface(child.stdout)) return JSON.parse(line)
  throw new Error(said)
}
