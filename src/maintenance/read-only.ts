import { accessSync, constants } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { placeTemporaryFiles, refuseForeign, refuseLost } from '../adapters/sqlite/place.ts'
import { obstructed } from '../core/engine/obstacles.ts'

/** Lets `read` look into an embedded database that others may have open. Never creates, migrates or writes it. */
export const openReadOnly = <Answer>(path: string, read: (file: DatabaseSync) => Answer): Answer => {
  refuseLost(path)
  try {
    accessSync(path, constants.R_OK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw obstructed('no_database_file', `The database file ${path} does not exist.`)
  }
  // To SQLite a name such as `file:copy.db` is a URI.
  const file = new DatabaseSync(resolve(path), { readOnly: true })
  try {
    refuseForeign(file, path)
    placeTemporaryFiles(file, path)
    file.exec('pragma busy_timeout = 5000')
    return read(file)
  } finally {
    file.close()
  }
}

/** Reads every page. Returns the first fault found, or null. */
export const findFault = (file: DatabaseSync): string | null => {
  try {
    const found = String(file.prepare('pragma quick_check(1)').get()?.['quick_check'])
    return found === 'ok' ? null : found
  } catch (error) {
    return (error as Error).message
  }
}
