import { spawnSync } from 'node:child_process'

/** Lets a mounted disk be read only, or written again; throws where it is in use. */
export const remount = (folder: string, how: 'ro' | 'rw'): void => {
  const why = run('mount', ['-o', `remount,${how}`, folder])
  if (why !== null) throw new Error(why)
}

/** Limits how large a file another process may write; `unlimited` lifts the limit. Why it cannot, or null. */
export const limitFiles = (pid: number, bytes: number | 'unlimited'): string | null =>
  run('prlimit', ['--pid', `${pid}`, `--fsize=${bytes}:unlimited`])

/** What went wrong, or null. */
const run = (command: string, args: readonly string[]): string | null => {
  const { error, status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (error !== undefined) return error.message
  return status === 0 ? null : stderr.trim()
}
