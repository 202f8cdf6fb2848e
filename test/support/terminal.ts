import { spawn, spawnSync } from 'node:child_process'
import { BIN, type Environment, inherited, NODE } from './program.ts'

/** `script` of util-linux makes a pseudo-terminal; Debian and Ubuntu include it. Null if it is installed. */
export const whyNoTerminal = (): string | null =>
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux')
    ? null
    : 'NO SCRIPT OF UTIL-LINUX HERE: terminal output was not tested'

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The shell line that runs the program with these arguments. */
export const programLine = (...args: readonly string[]): string => [NODE, BIN, ...args].map(quoted).join(' ')

type Typing = { readonly after: string; readonly keys: string }

/**
 * Runs a shell command on a pseudo-terminal of this width, and types keys once a text has appeared. `text` is the whole
 * output, with `\n` as line ends.
 */
export const onTerminal = async (line: string, env: Environment, columns = 80, typing?: Typing) => {
  const child = spawn('script', ['-qec', `stty cols ${columns} rows 24; exec ${line}`, '/dev/null'], {
    env: { ...inherited(), SHELL: '/bin/sh', TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let text = ''
  let isTyped = typing === undefined
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    if (isTyped || !text.includes(typing?.after ?? '')) return
    isTyped = true
    child.stdin.write(typing?.keys ?? '')
  })
  // Its input stays open: closing it would type Ctrl-D.
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  child.stdin.destroy()
  return { code, text: text.replaceAll('\r\n', '\n') }
}
