import { spawn } from 'node:child_process'

/** The address of a source file, to be imported by a child process. */
export const sourceUrl = (path: string): string => new URL(`../../src/${path}`, import.meta.url).href

/** Runs a small module in a process of its own; answers what it wrote to stdout, and throws what made it fail. */
export const runChild = (script: string, ...args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let out = ''
    let said = ''
    child.stdout.on('data', (chunk) => {
      out += chunk
    })
    child.stderr.on('data', (chunk) => {
      said += chunk
    })
    child.once('error', reject)
    child.once('close', (code) => (code === 0 ? resolve(out) : reject(new Error(said))))
  })
