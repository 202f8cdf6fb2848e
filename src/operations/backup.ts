import { randomInt, randomUUID } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { lastMigration } from '../adapters/sqlite/last-migration.ts'
import { readMigrations } from '../adapters/stores/migrations.ts'
import type { Config } from '../config/config.ts'
import { obstructed } from '../core/engine/failures.ts'
import { findFault, openReadOnly } from './read-only.ts'

/**
 * Copies the embedded database while other processes read and write it. The copy contains every write that was
 * acknowledged before this call. It is one file, checked, flushed to disk and readable by its owner alone; it appears
 * under its name once it is complete. Refuses to overwrite a file.
 */
export const backUp = (database: Config['database'], file: string) => {
  if (database.kind === 'postgres')
    throw new Error('DATABASE_URL is PostgreSQL. Back it up with pg_dump; the documentation shows how.')
  if (database.kind === 'memory') throw new Error('DATABASE_URL is memory:, which keeps nothing to back up.')
  refuseExisting(file)
  if (!existsSync(dirname(file))) throw obstructed('no_folder', `The folder ${dirname(file)} does not exist.`)
  const unfinished = `${file}.unfinished-${randomUUID()}`
  try {
    // Created before SQLite writes to it, so that other users can read it at no time.
    closeSync(openSync(unfinished, 'wx', 0o600))
    // A single statement sees a single moment, and writers do not wait for it.
    openReadOnly(database.path, (source) => source.prepare('vacuum into ?').run(unfinished))
    // A server that has the original open recognizes the copy by this number, if it is copied over the original.
    const unnumbered = new DatabaseSync(unfinished)
    unnumbered.exec(`pragma application_id = ${randomInt(1, 2 ** 31)}`)
    unnumbered.close()
    const migration = openReadOnly(unfinished, (copy) => checkCopy(copy, database.path))
    flush(unfinished)
    const { size: bytes } = statSync(unfinished)
    giveName(unfinished, file)
    return { file, bytes, migration }
  } finally {
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(unfinished + suffix, { force: true })
  }
}

const refuseExisting = (file: string): void => {
  if (existsSync(file))
    throw new Error(`${file} already exists. Choose a new name; a backup never overwrites a file.`)
}

const checkCopy = (copy: DatabaseSync, path: string): number => {
  const fault = findFault(copy)
  if (fault !== null) throw new Error(`${path} is damaged and was not backed up: ${fault}`)
  const migration = lastMigration(copy, readMigrations('sqlite'))
  if (migration === 0) throw new Error(`${path} is not a database of prospect-pages.`)
  return migration
}

/** Unlike a rename, a link never replaces a file that appeared meanwhile. Some file systems have no links. */
const giveName = (unfinished: string, file: string): void => {
  try {
    linkSync(unfinished, file)
  } catch {
    refuseExisting(file)
    renameSync(unfinished, file)
  }
  flush(dirname(file))
}

const flush = (path: string): void => {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
