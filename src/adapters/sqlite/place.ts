import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { unavailable } from '../../core/failures.ts'
import { orNull } from '../../core/or-null.ts'

/** A new file would make SQLite delete the journal. Another process creates the file first, then its journal. */
export const isLost = (place: string): boolean => existsSync(`${place}-wal`) && !existsSync(place)
export const lostDetail = (place: string): string =>
  `${place} is missing, but its journal ${place}-wal is there`
export const LOST_REMEDY = 'put the file back, or move the journal away'

export const refuseLost = (place: string): void => {
  if (statSync(place, { throwIfNoEntry: false })?.isDirectory()) throw new Error(`${place} is a folder.`)
  if (isLost(place)) throw new Error(`${lostDetail(place)}: ${LOST_REMEDY}.`)
}

/** Creates a missing file and its folder for this user alone. SQLite gives the mode of the file to its journal. */
export const prepareFile = (place: string): void => {
  refuseLost(place)
  mkdirSync(dirname(place), { recursive: true, mode: 0o700 })
  if (!existsSync(place)) closeSync(openSync(place, 'a', 0o600))
  // SQLite opens a file that it may not write without an error, and would not write to it later, once it may.
  accessSync(place, constants.W_OK)
}

/**
 * Answers a function that refuses `unavailable` while the path does not name the file that is open. It compares inodes,
 * as SQLite does; opening the file once more and closing it would release SQLite's locks.
 */
export const watchPlace = (file: DatabaseSync, place: string) => {
  const inodes = () =>
    orNull(() => [statSync(place), statSync(`${place}-wal`)].map(({ dev, ino }) => `${dev} ${ino}`).join())
  const opened = inodes()
  let isJournalEmpty = false
  return (): void => {
    const isMoved = inodes() !== opened
    // Closing deletes the journal: this throws if the file is closed.
    if (isMoved) file.prepare('select 1')
    // The journal stays in the old place, and would be applied to another file there. So it is written to its own file,
    // once: later it may contain what another process wrote to the other file.
    isJournalEmpty = isMoved && (isJournalEmpty || emptyJournal(file))
    const detail = `The database file ${place} was moved, deleted or replaced. Put it back, or restore a backup and restart.`
    if (isMoved) throw unavailable('The database cannot answer now.', new Error(detail))
  }
}
/** Whether the journal is empty now: nobody reads from it, and all of it is in the file. */
const emptyJournal = (file: DatabaseSync): boolean =>
  orNull(() => file.prepare('pragma wal_checkpoint(truncate)').get()?.['busy']) === 0
