import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type Environment, inherited } from './program.ts'
import { programLine } from './terminal.ts'

/** Why pages cannot be pasted here, or false. */
export const whyNoShell =
  spawnSync('bash', ['-c', 'command -v curl && command -v sed']).status === 0
    ? false
    : 'NO BASH, CURL OR SED HERE'

export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })

/** Puts the client into a folder as an installed package has it. */
export const installClient = (folder: string): void => {
  const installed = join(folder, 'node_modules/prospect-pages')
  mkdirSync(installed, { recursive: true })
  const source = readFileSync(join(import.meta.dirname, '../../src/client/prospect-pages.ts'), 'utf8')
  writeFileSync(join(installed, 'client.js'), stripTypeScriptTypes(source))
  writeFileSync(join(installed, 'package.json'), '{"type":"module","exports":{"./client":"./client.js"}}')
}

/** The functions `call` and `field`, which the tutorial defines for all pages. */
export const shellFunctions = (): string =>
  /^call\(\) .*\nfield\(\) .*\n/m.exec(
    readFileSync(join(import.meta.dirname, '../../docs/tutorial.md'), 'utf8'),
  )?.[0] ?? ''

export type Block = { readonly language: string; readonly text: string }
/** The blocks of code of a page, with a free port in place of each of these. */
export const blocksOf = async (name: string, ports: readonly number[] = []): Promise<readonly Block[]> => {
  let page = readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8')
  for (const port of ports) page = page.replaceAll(new RegExp(`\\b${port}\\b`, 'g'), String(await freePort()))
  return [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({
    language,
    text,
  }))
}

/** Saves the programs, whose first line is a comment with their name. */
export const saveFiles = (blocks: readonly Block[], folder: string): void => {
  for (const block of blocks) {
    const name = fileOf(block)
    if (name) writeFileSync(join(folder, name), block.text)
  }
}
const fileOf = ({ text }: Block) => /^(?:\/\/|#) ([\w-]+\.(?:mjs|py))\n/.exec(text)?.[1]

export type Step = { readonly script: string; readonly prints: string }
/** The scripts of a page, each with the block below it that shows what it prints. */
export const stepsOf = (blocks: readonly Block[]): readonly Step[] =>
  blocks.flatMap(({ language, text: script }, i) => {
    const after = blocks[i + 1]
    const isOutput = after !== undefined && after.language !== 'sh' && !fileOf(after)
    return language === 'sh' ? [{ script, prints: isOutput ? after.text : '' }] : []
  })

/** Runs scripts one after another in one shell where `prospect-pages` is installed; returns what each printed. */
export const pasteAll = async (
  scripts: readonly string[],
  env: Environment,
  folder: string,
): Promise<string[]> => {
  const end = '--- the end of a block ---\n'
  const program = `prospect-pages() { ${programLine()} "$@"; }; npx() { "$@"; }\n`
  // Programs that are left running end with the shell.
  const script = `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${program}${scripts.join(`printf -- '${end.trim()}\\n'\n`)}`
  const bash = spawn('timeout', ['100', 'bash', '-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: { ...inherited(), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return (await bash.stdout.setEncoding('utf8').toArray()).join('').split(end)
}

/** Without what differs each time: ids, secrets, times. */
export const withoutIds = (text: string): string =>
  text
    .replaceAll(/\b([a-z]+)_[0-9a-z]{26}\b/g, '$1_…')
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f-]{27}\b/g, 'UUID')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
