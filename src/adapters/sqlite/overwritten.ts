import { closeSync, openSync, readSync, renameSync, rmSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { orNull } from '../../core/engine/outcome.ts'

/** Position of the `application_id` in the header of a file. Each backup has a different one. */
const NUMBER_AT = 68
/** Descriptors by inode. Closing one releases all locks of this process on that file, so its stores share it. */
const descriptors = new Map<string, { readonly fd: number; stores: number }>()

/** Reads the number of a file without its journal; null while it is being overwritten, and for a database in memory. */
export const shareNumber = (place: string, inode: string) => {
  const shared = descriptors.get(inode) ?? { fd: orNull(() => openSync(place, 'r')) ?? -1, stores: 0 }
  descriptors.set(inode, shared)
  shared.stores++
  const bytes = Buffer.alloc(4)
  return {
    number: () => orNull(() => readSync(shared.fd, bytes, 0, 4, NUMBER_AT) && bytes.toString('hex')),
    release: (): void => {
      if (--shared.stores === 0 && descriptors.delete(inode)) orNull(() => closeSync(shared.fd))
    },
  }
}

const leftOpen: DatabaseSync[] = []
/**
 * Closing a file writes its journal into it, and Node closes it at an orderly exit. So an overwritten file stays open,
 * and its journal is moved away: the next process that opens the file would apply it.
 */
export const giveUp = (file: DatabaseSync, place: string | null): void => {
  leftOpen.push(file)
  process.once('exit', () => process.exit())
  if (place === null) return
  orNull(() => renameSync(`${place}-wal`, `${place}-wal-replaced`))
  rmSync(`${place}-shm`, { force: true })
}
