import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { obstructed } from '../../core/engine/obstacles.ts'
import { orNull } from '../../core/engine/or-null.ts'
import { isBusy } from './error-codes.ts'

/** The `application_id` of our files. */
const OUR_FILES = 0x5050_0000
const AGAIN_MS = 5
const LINKS_MAX = 40

/**
 * Throws if tables of another program are in the file. Files of older versions have no number that is ours. A damaged file
 * passes: the next reader says so.
 */
export const refuseForeign = (file: DatabaseSync, place: string): void => {
  const found = orNull(() => file.prepare(FILE_OF).get())
  if (!found) return
  const { id, tables, ours } = found
  const isNew = id === 0 && tables === 0
  const isOurs = id === OUR_FILES || ours === 2 || isNew
  if (!isOurs) throw new Error(`${place} is a SQLite file of another program.`)
}
const FILE_OF = `
  select application_id as id, (select count(*) from sqlite_schema) as tables,
    (select count(*) from sqlite_schema where name in ('schema_migrations', 'prospect_logs')) as ours
  from pragma_application_id`

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
  for (const path of [place, dirname(place)]) accessSync(path, constants.W_OK)
}

/**
 * Lets SQLite write its temporary files beside the database, unless SQLITE_TMPDIR names a usable folder: other folders
 * may be read-only, too small or not encrypted. SQLite uses them to rewrite a file, to sort and to roll back. Unlike an
 * environment variable, this pragma is visible neither to child processes nor to other libraries; all databases of this
 * process share it. SQLite accepts only a folder that it can write to. Returns the folder, if any.
 */
export const placeTemporaryFiles = (file: Pick<DatabaseSync, 'exec'>, place: string): string | undefined => {
  const accepts = (folder: string): boolean => {
    try {
      file.exec(`pragma temp_store_directory = '${folder.replaceAll("'", "''")}'`)
      return true
    } catch {
      return false
    }
  }
  const folders = [process.env['SQLITE_TMPDIR'], dirname(fileAt(place))]
  return folders.find((folder) => folder && accepts(folder))
}
