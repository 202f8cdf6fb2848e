import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** Opens an embedded database that other processes may have open. Never creates, migrates or writes it. */
export const openReadOnly = (path: string): DatabaseSync => {
  if (!existsSync(path)) throw new Error(`The database file ${path} does not exist.`)
  const file = new DatabaseSync(path, { readOnly: true })
  file.exec('pragma busy_timeout = 5000')
  return file
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
