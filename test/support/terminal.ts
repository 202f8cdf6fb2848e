import { spawn, spawnSync } from 'node:child_process'
import { BIN, type Environment, inherited, NODE } from './program.ts'

/** `script` of util-linux makes a real pseudo-terminal; Debian and Ubuntu always have it. Null where it is there. */
export const whyNoTerminal = (): string | null =>
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux')
    ? null
    : 'NO SCRIPT OF UTIL-LINUX HERE: nothing was tried on a terminal'

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** How a shell runs the program with these arguments. */
export const programLine = (...args: readonly string[]): string => [NODE, BIN, ...args].map(quoted).join(' ')

type Typing = { readonly after: string; readonly keys: string }

/**
 * Runs one command of a shell on a pseudo-terminal so many columns wide, and types some keys once it has said something.
 * `text` is all that the terminal was told, with its line ends as `\n`.
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
  // Its input stays open meanwhile: an end of it would be typed as Ctrl-D.
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  child.stdin.destroy()
  return { code, text: text.replaceAll('\r\n', '\n') }
}
