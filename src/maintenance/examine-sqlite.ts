import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { NETWORK_RISK, riskyFileSystem } from '../adapters/sqlite/file-systems.ts'
import { lastMigration } from '../adapters/sqlite/last-migration.ts'
import { fileAt, isLost, LOST_REMEDY, lostDetail, placeTemporaryFiles } from '../adapters/sqlite/place.ts'
import type { Migration } from '../adapters/stores/migrations.ts'
import { orNull } from '../core/engine/or-null.ts'
import { type Check, checkMigrations, failed, failedBy, passed, warned } from './check.ts'
import { nearestFolder } from './disks.ts'
import { findFault, openReadOnly } from './read-only.ts'

const FREE_BYTES_MIN = 268_435_456
/** Reading every page of a larger file takes more than some seconds. */
const QUICK_BYTES_MAX = 1_073_741_824

/** Checks the embedded database. `thorough` also reads every page of a large file. */
export const examineSqlite = (configuredPath: string, known: readonly Migration[], thorough: boolean) => {
  const path = fileAt(configuredPath)
  const folder = nearestFolder(path)
  const places = [writeAccess(path, folder), disk(folder), ...fileSystem(folder)]
  if (isLost(path)) return [failed('database', lostDetail(path), LOST_REMEDY), ...places]
  if (!existsSync(path))
    return [passed('database', `${path} does not exist yet; serve creates it`), ...places]
  try {
    return openReadOnly(path, (file) => {
      const migrations = checkMigrations(lastMigration(file, known), known.length)
      const version = file.prepare('select sqlite_version() as version').get()?.['version']
      const { size } = statSync(path)
      const database = passed('database', `SQLite ${version}, ${path}, ${size} bytes`)
      const isRead = thorough || size <= QUICK_BYTES_MAX
      return [
        database,
        ...places,
        temporaryFiles(path, size),
        privacy(path),
        integrity(file, isRead),
        migrations,
      ]
    })
  } catch (error) {
    const detail = `${path} could not be read: ${(error as Error).message}`
    const remedy =
      'check that DATABASE_URL names the right file and that this user can read it; otherwise restore a backup'
    return [failedBy(error, detail, remedy), ...places]
  }
}

/** SQLite writes the file and a journal beside it, so both the file and its folder must be writable. */
const writeAccess = (path: string, folder: string): Check => {
  const places = [folder, path, `${path}-wal`, `${path}-shm`].filter(existsSync)
  // In Bun `accessSync` itself returns null.
  const locked = places.filter((place) => orNull(() => [accessSync(place, constants.W_OK)]) === null)
  if (locked.length === 0) return passed('write access', `this user can write to ${folder}`)
  const remedy = 'run the service as a user that can write there, or change the owner'
  return failed('write access', `this user cannot write to ${locked.join(', ')}`, remedy)
}

const privacy = (path: string): Check => {
  const open = [path, `${path}-wal`].filter((file) => existsSync(file) && statSync(file).mode & 0o077)
  if (open.length === 0) return passed('privacy', 'only the owner of the file can read it')
  return failed('privacy', `other users can read ${open.join(', ')}`, `run chmod 600 ${open.join(' ')}`)
}

const disk = (folder: string): Check => {
  const { bavail, bsize } = statfsSync(folder)
  const detail = `${bavail * bsize} bytes free in ${folder}`
  if (bavail * bsize >= FREE_BYTES_MIN) return passed('disk', detail)
  return failed('disk', detail, 'free some space: while the disk is full, every write gets 503')
}

const fileSystem = (folder: string): Check[] => {
  const risky = riskyFileSystem(folder)
  return risky ? [warned('file system', `${folder} is on ${risky}`, NETWORK_RISK)] : []
}

/** Larger than the part that SQLite keeps in memory. */
const WRITE_TEMPORARY = 'pragma cache_size = 1; create table tried as select zeroblob(1000000)'
/** To rewrite the file, SQLite writes a temporary copy, and then the journal. */
const temporaryFiles = (path: string, bytes: number): Check => {
  const file = new DatabaseSync('')
  try {
    const folder = placeTemporaryFiles(file, path) ?? dirname(path)
    file.exec(WRITE_TEMPORARY)
    const { bavail, bsize } = statfsSync(folder)
    const detail = `${bavail * bsize} bytes free in ${folder}`
    if (bavail * bsize >= 2 * bytes) return passed('temporary files', detail)
    const remedy = `free some space: to complete an erasure, the file is rewritten, which takes ${2 * bytes} bytes`
    return warned('temporary files', detail, remedy)
  } catch (error) {
    const { message } = error as Error
    const cure = /full/.test(message)
      ? 'free some space there, or set SQLITE_TMPDIR to a folder on another disk'
      : 'set SQLITE_TMPDIR to a folder that can be written to'
    return failed(
      'temporary files',
      `SQLite cannot write any: ${message}`,
      `${cure}; until then no erasure is completed`,
    )
  } finally {
    file.close()
  }
}

const integrity = (file: DatabaseSync, isRead: boolean): Check => {
  if (!isRead) return passed('integrity', 'skipped, because the file is large; run doctor --thorough')
  const fault = findFault(file)
  if (fault === null) return passed('integrity', 'no damaged page')
  const remedy = 'stop the service, keep a copy of the file, and restore the last backup'
  return failed('integrity', `the file is damaged; SQLite reports: ${fault.replace(/^\*.*\n/, '')}`, remedy)
}
