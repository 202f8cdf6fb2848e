import {
  chownSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isBusy, isDamaged } from '../adapters/sqlite/error-codes.ts'
import { appliedMigrations } from '../adapters/sqlite/last-migration.ts'
import { fileAt } from '../adapters/sqlite/place.ts'
import { missingMigrations, readMigrations } from '../adapters/stores/migrations.ts'
import type { Config } from '../config/config.ts'
import { copyDatabase, embeddedPath, flush, removeBeside } from './backup.ts'
import { fileTime } from './backup-folder.ts'
import { findFault, openReadOnly } from './read-only.ts'

/**
 * Replaces the embedded database by a copy of a backup, and keeps the old file beside it. Refuses a backup that this
 * program cannot use, and a database that another process has open. A kill leaves the old database or the new one.
 */
export const restore = (database: Config['database'], backup: string) => {
  const path = fileAt(embeddedPath(database, 'Restore it with pg_restore'))
  const refuse = (why: string) => {
    throw new Error(`${backup} was not restored: ${why}`)
  }
  if (fileAt(backup) === path) refuse('it is the database itself.')
  if (!existsSync(backup)) refuse('it does not exist.')
  openReadOnly(backup, (file) => {
    const fault = findFault(file)
    if (fault !== null) throw new Error(`${backup} is damaged and was not restored: ${fault}`)
    const applied = appliedMigrations(file)
    if (applied.length === 0) refuse('it is not a database of prospect-pages.')
    missingMigrations(readMigrations('sqlite'), applied)
  })
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const old = existsSync(path) ? lock(path) : null
  const kept = `${path}.before-restore-${fileTime(Date.now())}`
  try {
    removeBeside(path, /^\.unfinished-/)
    const { bytes, migration } = copyDatabase(backup, path, (copy) => replace(path, copy, kept))
    return { file: path, bytes, migration, kept: existsSync(kept) ? kept : null }
  } finally {
    old?.close()
  }
}

/**
 * Locks a database until it is closed. Leaving the WAL mode fails while another process has the file open. It empties the
 * journal into the file; without a journal SQLite deletes nothing beside a file that it closes. Null if the file is too
 * damaged for that.
 */
const lock = (path: string): DatabaseSync | null => {
  const file = new DatabaseSync(path)
  try {
    file.exec('pragma journal_mode = delete; begin exclusive')
    // Another process may have opened it in between.
    if (file.prepare('pragma journal_mode').get()?.['journal_mode'] === 'delete') return file
  } catch (error) {
    file.close()
    if (isDamaged(error)) return null
    if (!isBusy(error)) throw error
  }
  throw new Error(`Another process has ${path} open. Stop the server, then restore.`)
}

/** Keeps the old file, if it is damaged with its journals: SQLite would apply those to the new file. */
const replace = (path: string, copy: string, kept: string): void => {
  const old = statSync(path, { throwIfNoEntry: false })
  if (old && process.getuid?.() === 0) chownSync(copy, old.uid, old.gid)
  const found = ['', '-wal', '-journal'].filter((suffix) => existsSync(path + suffix))
  for (const suffix of found) keep(path + suffix, kept + suffix)
  flush(dirname(path))
  for (const suffix of ['-shm', ...found]) if (suffix !== '') rmSync(path + suffix, { force: true })
  renameSync(copy, path)
}

const keep = (file: string, kept: string): void => {
  try {
    linkSync(file, kept)
  } catch {
    // Some file systems have no links.
    copyFileSync(file, kept, constants.COPYFILE_EXCL)
  }
}
