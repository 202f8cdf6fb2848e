import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { ROOM_BYTES } from '../adapters/sqlite/open.ts'
import { fileAt } from '../adapters/sqlite/place.ts'
import type { Config } from '../config/config.ts'
import type { NoWrites } from '../core/engine/obstacles.ts'
import { orNull } from '../core/engine/or-null.ts'
import { openReadOnly } from './read-only.ts'

export type Row = Readonly<Record<string, string | number | null>>
/** A database that a diagnosis reads. */
export type Database = {
  /** Runs one statement, the same text on either kind of database. Waits for no lock. */
  readonly read: (sql: string) => Promise<readonly Row[]>
  /** Sessions that hold up others, or could: none on the embedded database, whose readers never wait. */
  readonly locks: () => Promise<readonly Row[]>
  /** Null while it takes writes. */
  readonly whyNoWrites: () => Promise<WritesRefused | null>
}
/** Why a database takes no writes, in one word, and when it was last written to, if that can be seen. */
export type WritesRefused = { readonly reason: NoWrites; readonly lastWriteMs: number | null }
export type Use<Answer> = (database: Database) => Promise<Answer>

/** Opens the database of these settings for `use`, which can only read it. */
export const readDatabase = async <Answer>(config: Config, use: Use<Answer>) => {
  const { database } = config
  if (database.kind === 'memory') throw new Error('DATABASE_URL is memory:, which no other process can read')
  // Loads the driver, which an embedded database does not need.
  if (database.kind === 'postgres')
    return (await import('./read-postgres.ts')).readPostgres(database.url, config, use)
  const read = async (sql: string) => openReadOnly(database.path, (file) => file.prepare(sql).all() as Row[])
  return use({ read, locks: async () => [], whyNoWrites: async () => writeRefusalOf(fileAt(database.path)) })
}

const writeRefusalOf = (path: string): WritesRefused | null => {
  const reason = whyNotWritten(path)
  if (reason === null) return null
  const journal = statSync(`${path}-wal`, { throwIfNoEntry: false })
  // A reader may have made an empty journal just now.
  const journalMs = journal && journal.size > 0 ? journal.mtimeMs : 0
  return { reason, lastWriteMs: Math.max(statSync(path).mtimeMs, journalMs) }
}
const whyNotWritten = (path: string): NoWrites | null => {
  if (orNull(() => [accessSync(path, constants.W_OK)]) === null) return 'read_only'
  const { bavail, bsize } = statfsSync(dirname(path))
  return bavail * bsize < ROOM_BYTES ? 'disk_full' : null
}
