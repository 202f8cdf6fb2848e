import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

export { lastMigration } from './open.ts'

/** The embedded database as it is, whoever else has it open: it is neither made, nor migrated, nor written to. */
export const openReadOnly = (path: string): DatabaseSync => {
  if (!existsSync(path)) throw new Error(`There is no file ${path}.`)
  const file = new DatabaseSync(path, { readOnly: true })
  file.exec('pragma busy_timeout = 5000')
  return file
}
