import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { obstructed, unavailable } from '../../core/engine/failures.ts'
import { orNull } from '../../core/engine/outcome.ts'
import { isBusy } from './error-codes.ts'
import { giveUp, shareNumber } from './overwritten.ts'

/** The upper half of the `application_id` of our files; the lower half differs in each backup. */
export const OUR_FILES = 0x5050_0000
/**
 * Throws if tables of another program are in the file. Files of older versions have no number that is ours. A damaged file
 * passes: the next reader says so.
 */
export const refuseForeign = (file: DatabaseSync, place: string): void => {
  const found = orNull(() => file.prepare(FILE_OF).get())
  if (!found) return
  const { id, tables, ours } = found
  const isOurs = (Number(id) & 0xffff_0000) === OUR_FILES || ours === 2 || (id === 0 && tables === 0)
  if (!isOurs) throw new Error(`${place} is a SQLite file of another program.`)
}
const FILE_OF = `
  select application_id as id, (select count(*) from sqlite_schema) as tables,
    (select count(*) from sqlite_schema where name in ('schema_migrations', 'prospect_logs')) as ours
  from pragma_application_id`

export const NETWORK_RISK =
  'move it to a local disk, or use PostgreSQL: locks may fail there, which damages the file'
/** File systems that may lose locks or memory maps of SQLite, by the number that Linux gives them. */
const RISKY: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'SMB',
  4266872130: 'SMB',
  16914839: '9p',
  1702057286: 'FUSE',
  12805120: 'Ceph',
  1397113167: 'AFS',
  198183888: 'Lustre',
  2020557398: 'VirtualBox',
}
/** Why a folder, which need not exist yet, is no place for a database, or null. */
export const riskyFileSystem = (
  folder: string,
  statOf: (path: string) => { type: number } = statfsSync,
): string | null => {
  const found = orNull(() => statOf(folder))
  if (!found && folder !== dirname(folder)) return riskyFileSystem(dirname(folder), statOf)
  return RISKY[Number(found?.type) >>> 0] ?? null
}

/** Two processes that open a new file at once both want an exclusive lock; SQLite refuses one without waiting. */
export const switchToWal = (file: DatabaseSync, busyMsMax: number): void => {
  const giveUpAt = performance.now() + busyMsMax
  for (;;) {
    try {
      const { page_count: pages } = file.prepare('pragma page_count').get() ?? {}
      if (pages === 0) file.exec(`pragma application_id = ${OUR_FILES}`)
      // The second pragma is a read, which creates the journal.
      file.exec('pragma journal_mode = wal; pragma data_version')
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() >= giveUpAt) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, AGAIN_MS)
    }
  }
}

const AGAIN_MS = 5
const LINKS_MAX = 40
/** The file that a path refers to, even if it is missing: SQLite keeps the journal beside the file, not beside a link. */
export const fileAt = (path: string, linksMax = LINKS_MAX): string => {
  const target = linksMax > 0 ? orNull(() => readlinkSync(path)) : null
  if (target === null) return resolve(path)
  return fileAt(resolve(realpathSync(dirname(path)), target), linksMax - 1)
}

/** A new file would make SQLite delete the journal. Another process creates the file first, then its journal. */
export const isLost = (place: string): boolean => existsSync(`${place}-wal`) && !existsSync(place)
export const lostDetail = (place: string): string =>
  `${place} is missing, but its journal ${place}-wal is there`
export const LOST_REMEDY = 'put the file back, or move the journal away'

export const refuseLost = (path: string): void => {
  const place = fileAt(path)
  if (statSync(place, { throwIfNoEntry: false })?.isDirectory())
    throw obstructed('no_folder', `${place} is a folder.`)
  if (isLost(place)) throw new Error(`${lostDetail(place)}: ${LOST_REMEDY}.`)
}

/** Creates a missing file and its folder for this user alone. SQLite gives the mode of the file to its journal. */
export const prepareFile = (place: string): void => {
  refuseLost(place)
  mkdirSync(dirname(place), { recursive: true, mode: 0o700 })
  if (!existsSync(place)) closeSync(openSync(place, 'a', 0o600))
  // SQLite opens a read-only file without an error, and would not write to it later, even once it is writable.
  for (const one of [place, dirname(place)]) accessSync(one, constants.W_OK)
}

/**
 * Lets SQLite write its temporary files beside the database, unless SQLITE_TMPDIR names a usable folder: other folders
 * may be read-only, too small or not encrypted. SQLite uses them to rewrite a file, to sort and to roll back. Unlike an
 * environment variable, this pragma is visible neither to child processes nor to other libraries; all databases of this
 * process share it. SQLite accepts only a folder that it can write to. Returns the folder, if any.
 */
export const placeTemporaryFiles = (file: Pick<DatabaseSync, 'exec'>, place: string): string | undefined =>
  [process.env['SQLITE_TMPDIR'], dirname(fileAt(place))].find(
    (one) => one && orNull(() => [file.exec(`pragma temp_store_directory = '${one.replaceAll("'", "''")}'`)]),
  )

/**
 * Detects that the path does not name the open file. It compares inodes, as SQLite does. An overwritten file keeps its
 * inode, but is written to while its journal is missing, or has a different number afterwards.
 */
export const watchPlace = (file: DatabaseSync, place: string) => {
  const real = fileAt(place)
  const opened = lookAt(place, real)
  const { number, release } = shareNumber(place, opened.file)
  const openedNumber = number()
  let { writtenMs } = opened
  let [isJournalEmpty, isOverwritten] = [false, false]
  return {
    /** Refuses `unavailable` while the file is not in its place, and for good once it was overwritten. */
    refuseMoved: (): void => {
      const now = lookAt(place, real)
      const isMoved = now.file !== opened.file || now.journal !== opened.journal
      // Closing deletes the journal: this throws if the file is closed.
      if (isMoved) file.prepare('select 1')
      if (now.file === opened.file && now.writtenMs !== writtenMs && !isJournalEmpty && !isOverwritten) {
        writtenMs = now.writtenMs
        isOverwritten = isMoved || number() !== openedNumber
        if (isOverwritten) giveUp(file, isMoved ? null : real)
      }
      // The journal stays in the old place, and would be applied to another file there. So it is written to the moved
      // file, once: later it may contain writes of another process to the other file.
      isJournalEmpty = isMoved && !isOverwritten && (isJournalEmpty || emptyJournal(file))
      const detail = `The database file ${place} was moved, deleted or replaced. Put it back, or restore a backup and restart.`
      if (isMoved || isOverwritten) throw unavailable('The database cannot answer now.', new Error(detail))
    },
    isOverwritten: () => isOverwritten,
    close: (): void => {
      if (isOverwritten) return
      file.close()
      release()
    },
  }
}

/** Looks at the place again: it may be a link that now refers to a different file. */
const lookAt = (place: string, real: string) => {
  const file = orNull(() => statSync(place))
  const journal = orNull(() => statSync(`${real}-wal`))
  const inode = (found?: { readonly dev: number; readonly ino: number } | null) =>
    `${found?.dev} ${found?.ino}`
  return { file: inode(file), journal: inode(journal), writtenMs: file?.mtimeMs }
}

/** Whether the journal is empty now: no reader needs it, and all of it is in the file. */
const emptyJournal = (file: DatabaseSync): boolean =>
  orNull(() => file.prepare('pragma wal_checkpoint(truncate)').get()?.['busy']) === 0
