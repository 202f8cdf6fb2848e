import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { newFolder } from '../support/program.ts'

type Owner = Parameters<typeof newFolder>[0]

/** A disk of the test's own, which can be filled, and made to refuse every write. */
export type SmallDisk = {
  readonly folder: string
  /** Takes all the space that is left. */
  readonly fill: () => void
  readonly free: () => void
  readonly mount: (how: 'ro' | 'rw') => void
}

/** A small file system in memory; why there is none here, as text. */
export const smallDisk = (t: Owner, megabytes: number): SmallDisk | string => {
  const folder = join(newFolder(t), 'disk')
  mkdirSync(folder)
  const why = run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'prospect-pages-test', folder])
  if (why !== null) return `NO SMALL DISK HERE: ${why}`
  t.teardown(async () => {
    run('umount', ['--lazy', folder])
  })
  const filler = join(folder, 'filler')
  return {
    folder,
    fill: () => writeUntilFull(filler),
    free: () => rmSync(filler, { force: true }),
    mount: (how) => {
      const why = run('mount', ['-o', `remount,${how}`, folder])
      if (why !== null) throw new Error(why)
    },
  }
}

/** What went wrong, or null. */
const run = (command: string, args: readonly string[]): string | null => {
  const { error, status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (error !== undefined) return error.message
  return status === 0 ? null : stderr.trim()
}

const writeUntilFull = (path: string): void => {
  const file = openSync(path, 'a')
  try {
    for (let size = 1_048_576; size >= 1; ) {
      try {
        if (writeSync(file, new Uint8Array(size)) < size) size = Math.floor(size / 2)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
        size = Math.floor(size / 2)
      }
    }
  } finally {
    closeSync(file)
  }
}

/** Limits how large a file another process may write; `unlimited` lifts the limit. Why it cannot, or null. */
export const limitFiles = (pid: number, bytes: number | 'unlimited'): string | null =>
  run('prlimit', ['--pid', `${pid}`, `--fsize=${bytes}:unlimited`])
