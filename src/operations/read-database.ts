import type { Config } from '../config/config.ts'
import { openReadOnly } from './read-only.ts'

export type Row = Readonly<Record<string, string | number | null>>
/** A database that a diagnosis reads. */
export type Database = {
  /** Runs one statement, the same text on either kind of database. Waits for no lock. */
  readonly read: (sql: string) => Promise<readonly Row[]>
  /** Sessions that hold up others, or could: none on the embedded database, whose readers never wait. */
  readonly locks: () => Promise<readonly Row[]>
}
export type Use<Answer> = (database: Database) => Promise<Answer>

/** Lets `use` read the database of these settings. Changes nothing. */
export const readDatabase = async <Answer>(config: Config, use: Use<Answer>) => {
  const { database } = config
  if (database.kind === 'memory') throw new Error('DATABASE_URL is memory:, which no other process can read')
  // It brings the driver.
  if (database.kind === 'postgres')
    return (await import('./read-postgres.ts')).readPostgres(database.url, config, use)
  const read = async (sql: string) => openReadOnly(database.path, (file) => file.prepare(sql).all() as Row[])
  return use({ read, locks: async () => [] })
}
