import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'

/** The address of a source file, to be imported by a child process. */
export const sourceUrl = (path: string): string => new URL(`../../src/${path}`, import.meta.url).href

/** Runs a small module in a separate process. Returns its stdout, or throws the error that made it fail. */
export const runChild = (script: string, ...args: readonly string[]): Promise<string> =>
  outputOf(
    spawn(process.execPath, ['--input-type=module', '--eval', script, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  )

/** Returns the stdout of a process once it has ended. If it failed, throws all of its output. */
export const outputOf = (child: ChildProcessByStdio<null, Readable, Readable>): Promise<string> =>
  new Promise((resolve, reject) => {
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk) => {
      stdout += chunk
    })
    child.stderr.on('data', (chunk) => {
      stderr += chunk
    })
    child.once('error', reject)
    child.once('close', (code) => (code === 0 ? resolve(stdout) : reject(new Error(`${stdout}\n${stderr}`))))
  })
