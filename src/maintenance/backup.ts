import { randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { lastMigration } from '../adapters/sqlite/last-migration.ts'
import { backupBefore, readMigrations } from '../adapters/stores/migrations.ts'
import type { Config } from '../config/config.ts'
import { obstructed } from '../core/engine/obstacles.ts'
import { orNull } from '../core/engine/or-null.ts'
import { findFault, openReadOnly } from './read-only.ts'

/**
 * Copies the embedded database while other processes read and write it. The copy contains every write that was
 * acknowledged before this call. It is one file, checked, flushed to disk and readable by its owner alone; it appears
 * under its name once it is complete. Refuses to overwrite a file.
 */
export const backUp = (database: Config['database'], file: string) => {
  const path = embeddedPath(database, 'Back it up with pg_dump')
  refuseExisting(file)
  return copyDatabase(path, file, publishWithoutReplacing)
}

/**
 * Backs a file up before this program migrates it, and deletes the backup from before an earlier migration. No other
 * process may write to the file at the same time.
 */
export const backUpBeforeMigration = (path: string) => {
  removeBeside(path, /^\.before-\d+\.\d+\.\d+[\w.-]*\.unfinished-/)
  const copy = copyDatabase(path, backupBefore(path), renameSync)
  removeBeside(path, /^\.before-\d+\.\d+\.\d+(-[\w.]+)?$/, copy.file)
  return copy
}

export const embeddedPath = (database: Config['database'], instead: string): string => {
  if (database.kind === 'postgres')
    throw new Error(`DATABASE_URL is PostgreSQL. ${instead}; the documentation shows how.`)
  if (database.kind === 'memory') throw new Error('DATABASE_URL is memory:, which keeps nothing to back up.')
  return database.path
}

/** Copies a database to an unfinished file. Once that is complete, `publish` moves it to its place. */
export const copyDatabase = (
  path: string,
  file: string,
  publish: (unfinished: string, file: string) => void,
) => {
  const folder = dirname(file)
  if (!existsSync(folder)) throw obstructed('no_folder', `The folder ${folder} does not exist.`)
  for (const abandoned of abandonedCopies(folder)) orNull(() => rmSync(abandoned))
  refuseNoRoom(folder, path)
  // Resolved, because to SQLite a name such as `file:copy.db` is a URI.
  const unfinished = resolve(`${file}.unfinished-${randomUUID()}`)
  try {
    // Created before SQLite writes to it, so that other users can never read it.
    closeSync(openSync(unfinished, 'wx', 0o600))
    // A single statement sees a single moment, and writers do not wait for it.
    openReadOnly(path, (source) => source.prepare('vacuum into ?').run(unfinished))
    const migration = openReadOnly(unfinished, (copy) => checkCopy(copy, path))
    flush(unfinished)
    const { size: bytes } = statSync(unfinished)
    publish(unfinished, file)
    flush(folder)
    return { file, bytes, migration }
  } finally {
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(unfinished + suffix, { force: true })
  }
}

const UNFINISHED = /\.unfinished-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}(-journal|-wal|-shm)?$/
/** No copy takes an hour to check. */
const ABANDONED_MS_MIN = 60 * 60_000
/** Unfinished copies that killed processes left behind. If a copy is removed while it is checked, the backup fails. */
export const abandonedCopies = (folder: string): string[] => {
  const names = orNull(() => readdirSync(folder)) ?? []
  const unfinished = names.filter((name) => UNFINISHED.test(name)).map((name) => join(folder, name))
  return unfinished.filter((file) => {
    const writtenMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Infinity
    return Date.now() - writtenMs > ABANDONED_MS_MIN
  })
}

const refuseExisting = (file: string): void => {
  if (existsSync(file))
    throw new Error(`${file} already exists. Choose a new name; a backup never overwrites a file.`)
}

/** A copy is at most as large as the file and its journal. */
const refuseNoRoom = (folder: string, path: string): void => {
  const sizes = [path, `${path}-wal`].map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0)
  const needed = sizes.reduce((sum, size) => sum + size)
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize < needed)
    throw obstructed(
      'no_room',
      `A copy of ${path} needs ${needed} bytes, but ${folder} has ${bavail * bsize}.`,
    )
}

const checkCopy = (copy: DatabaseSync, path: string): number => {
  const fault = findFault(copy)
  if (fault !== null) throw new Error(`${path} is damaged and was not copied: ${fault}`)
  const migration = lastMigration(copy, readMigrations('sqlite'))
  if (migration === 0) throw new Error(`${path} is not a database of prospect-pages.`)
  return migration
}

/** Unlike a rename, a link never replaces a file that appeared in between. Some file systems have no links. */
const publishWithoutReplacing = (unfinished: string, file: string): void => {
  try {
    linkSync(unfinished, file)
  } catch {
    refuseExisting(file)
    renameSync(unfinished, file)
  }
}

export const flush = (path: string): void => {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

/** Deletes the files beside `path` whose names are its name followed by `ending`, except `except`. */
export const removeBeside = (path: string, ending: RegExp, except?: string): void => {
  const folder = dirname(path)
  const start = basename(path)
  for (const name of readdirSync(folder)) {
    const isBeside = name.startsWith(start) && ending.test(name.slice(start.length))
    const file = join(folder, name)
    if (isBeside && file !== except) rmSync(file)
  }
}
