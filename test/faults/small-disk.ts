import { spawnSync } from 'node:child_process'
import { closeSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { newFolder } from '../support/program.ts'

export type SmallDisk = {
  readonly folder: string
  /** Leaves no room at all. */
  readonly fill: () => void
  /** Gives back this many bytes of what `fill` took. */
  readonly leave: (bytes: number) => void
  /** Gives back what `fill` took. */
  readonly free: () => void
}

const CHUNKS = [1_048_576, 65_536, 4_096]

/** Why no small disk can be mounted here, or null. */
export const whyNoSmallDisk = (): string | null =>
  process.platform === 'linux' && process.getuid?.() === 0
    ? null
    : 'only root can mount a small disk, on Linux'

/** A disk of this many megabytes, in memory; null where this system mounts none. */
export const mountSmallDisk = (t: Test, megabytes: number): SmallDisk | null => {
  const folder = newFolder(t)
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder])
  if (status !== 0) return null
  t.teardown(() => {
    spawnSync('umount', ['--lazy', folder])
  })
  const ballast = join(folder, 'ballast')
  return {
    folder,
    fill: () => {
      const file = openSync(ballast, 'a')
      for (const bytes of CHUNKS) {
        const chunk = Buffer.alloc(bytes)
        while (tryWrite(file, chunk)) {
          // Until no chunk of this size fits.
        }
      }
      closeSync(file)
    },
    leave: (bytes) => truncateSync(ballast, statSync(ballast).size - bytes),
    free: () => rmSync(ballast),
  }
}

/** Returns whether there was room. */
const tryWrite = (file: number, chunk: Buffer): boolean => {
  try {
    return writeSync(file, chunk) > 0
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false
    throw error
  }
}
