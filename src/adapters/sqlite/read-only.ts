import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** Opens an embedded database that other processes may have open. Never creates, migrates or writes it. */
export const openReadOnly = (path: string): DatabaseSync => {
  if (!existsSync(path)) throw new Error(`The database file ${path} does not exist.`)
  const file = new DatabaseSync(path, { readOnly: true })
  file.exec('pragma busy_timeout = 5000')
  return file
}

/** The number of the last migration, 0 in a database without a list of migrations. */
export const lastMigration = (file: DatabaseSync): number => {
  const list = file.prepare("select 1 from sqlite_schema where name = 'schema_migrations'").get()
  if (list === undefined) return 0
  const last = file.prepare('select coalesce(max(number), 0) as applied from schema_migrations').get()
  return Number(last?.['applied'])
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
