import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { unavailable } from '../../core/engine/failures.ts'
import { orNull } from '../../core/engine/or-null.ts'
import { fileAt } from './place.ts'

const CHECK_MS = 10_000

/**
 * Detects that the path no longer names the open file, by the inodes of the file and of its journal. It looks every ten
 * seconds, and when `check` is called; a write does not look. Once the file is missed, the database stays refused: the
 * file may have changed meanwhile.
 */
export const watchPlace = (file: DatabaseSync, place: string) => {
  const real = fileAt(place)
  const opened = inodesAt(place, real)
  let isClosed = false
  let isMoved = false
  let isJournalEmpty = false

  const check = (): void => {
    // Closing deletes the journal.
    if (isClosed) return
    isMoved ||= inodesAt(place, real) !== opened
    // The journal stays in the old place, and would be applied to another file there. So it is written to the moved
    // file, once: later it may contain writes of another process to the other file.
    if (isMoved && !isJournalEmpty) isJournalEmpty = emptyJournal(file)
  }
  const timer = setInterval(check, CHECK_MS).unref()

  return {
    check,
    refuseMoved: (): void => {
      if (!isMoved || isClosed) return
      const detail = `The database file ${place} was moved, deleted or replaced. Put it back or restore a backup, and restart.`
      throw unavailable('The database cannot answer now.', new Error(detail))
    },
    close: (): void => {
      clearInterval(timer)
      check()
      isClosed = true
      file.close()
    },
  }
}

/** The path may be a link that now refers to a different file. The journal is beside the file, not beside the link. */
const inodesAt = (place: string, real: string): string => {
  const file = orNull(() => statSync(place))
  const journal = orNull(() => statSync(`${real}-wal`))
  return `${file?.dev} ${file?.ino} ${journal?.ino}`
}

/** Whether the journal is empty now: no reader needs it, and all of it is in the file. */
const emptyJournal = (file: DatabaseSync): boolean =>
  orNull(() => file.prepare('pragma wal_checkpoint(truncate)').get()?.['busy']) === 0
