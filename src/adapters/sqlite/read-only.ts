import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** The embedded database as it is, whoever else has it open: it is neither made, nor migrated, nor written to. */
export const openReadOnly = (path: string): DatabaseSync => {
  if (!existsSync(path)) throw new Error(`There is no file ${path}.`)
  const file = new DatabaseSync(path, { readOnly: true })
  file.exec('pragma busy_timeout = 5000')
  return file
}

/** The number of the last migration; 0 where there is not even a list of them. */
export const lastMigration = (file: DatabaseSync): number => {
  const list = file.prepare("select 1 from sqlite_schema where name = 'schema_migrations'").get()
  if (list === undefined) return 0
  const last = file.prepare('select coalesce(max(number), 0) as applied from schema_migrations').get()
  return Number(last?.['applied'])
}
