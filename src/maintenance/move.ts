import type { Warn } from '../adapters/postgres/migrate.ts'
import { readMigrations } from '../adapters/stores/migrations.ts'
import { TABLES, type Table } from '../adapters/stores/tables.ts'
import { charactersOf } from '../core/engine/slices.ts'
import { batchesOf } from './batches.ts'
import { sqliteSource } from './move-from-sqlite.ts'
import { postgresTarget } from './move-to-postgres.ts'

export type Source = ReturnType<typeof sqliteSource>
export type Target = ReturnType<typeof postgresTarget>
export type Progress = {
  readonly step: 'comparing' | 'copying' | 'checking'
  readonly table: string
  readonly rows: number
  readonly of: number
}
type OnProgress = (progress: Progress) => void
export type Moved = { readonly rows: number; readonly tables: Readonly<Record<string, number>> }

/** Copies an embedded database, which no other process may have open, into an empty PostgreSQL database. */
export const moveToPostgres = async (path: string, url: string, onProgress: OnProgress, warn: Warn) => {
  const source = sqliteSource(path, readMigrations('sqlite'))
  const target = postgresTarget(url, readMigrations('postgres'), warn)
  try {
    return await move(source, target, onProgress)
  } finally {
    source.close()
    await target.close()
  }
}

/**
 * Copies every row, then compares every row. Resumable: a target that contains only identical rows from the source is
 * treated as an interrupted move. Any other target is refused before a row is written. The source is only read.
 */
export const move = async (source: Source, target: Target, onProgress: OnProgress): Promise<Moved> => {
  /** The rows of a table. Each batch is reported once it has been dealt with. */
  async function* batches(table: Table, step: Progress['step']) {
    const of = source.count(table)
    let taken = 0
    for await (const batch of batchesOf(source.rows(table), charactersOf, BATCH_MAX)) {
      yield batch
      taken += batch.length
      onProgress({ step, table: table.name, rows: taken, of })
    }
  }
  const countEqual = async (table: Table, step: Progress['step']): Promise<number> => {
    let equal = 0
    for await (const batch of batches(table, step)) equal += await target.countEqual(table, batch)
    return equal
  }

  source.lock()
  await target.prepare()
  for (const table of TABLES) {
    const found = await target.count(table)
    const equal = found === 0 ? 0 : await countEqual(table, 'comparing')
    if (equal !== found)
      throw new Error(
        `The target contains other data: ${found - equal} of its ${found} rows in ${table.name} are not in the source. Nothing was copied. Move into an empty database.`,
      )
  }
  await target.mark(true)
  for (const table of TABLES)
    for await (const batch of batches(table, 'copying')) await target.add(table, batch)
  const tables: Record<string, number> = {}
  for (const table of TABLES) {
    const wanted = source.count(table)
    const equal = await countEqual(table, 'checking')
    const found = await target.count(table)
    if (equal !== wanted || found !== wanted)
      throw new Error(
        `The copy differs from the source: of ${wanted} rows in ${table.name}, ${equal} are equal in the target, which has ${found}. Another program wrote to the target during the move. Move into an empty database.`,
      )
    tables[table.name] = wanted
  }
  await target.mark(false)
  return { rows: Object.values(tables).reduce((sum, rows) => sum + rows, 0), tables }
}

/** Together these bound the memory that a batch takes: one row may be large, or rows may be many. */
const BATCH_MAX = { count: 500, size: 2_097_152 }
