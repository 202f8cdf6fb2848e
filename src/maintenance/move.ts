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
  readonly rowsTotal: number
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
  /** Yields the rows of a table in batches, and reports each once it is done. */
  async function* batches(table: Table, step: Progress['step']) {
    const rowsTotal = source.count(table)
    let rows = 0
    for await (const batch of batchesOf(source.rows(table), charactersOf, BATCH_MAX)) {
      yield batch
      rows += batch.length
      onProgress({ step, table: table.name, rows, rowsTotal })
    }
  }
  const countEqual = async (table: Table, step: Progress['step']): Promise<number> => {
    let equal = 0
    for await (const batch of batches(table, step)) equal += await target.countEqual(table, batch)
    return equal
  }
  const refuseOtherData = async (table: Table): Promise<void> => {
    const found = await target.count(table)
    const equal = found === 0 ? 0 : await countEqual(table, 'comparing')
    if (equal !== found)
      throw new Error(
        `The target contains other data: ${found - equal} of its ${found} rows in ${table.name} are not in the source. Nothing was copied. Move into an empty database.`,
      )
  }
  const copy = async (table: Table): Promise<void> => {
    for await (const batch of batches(table, 'copying')) await target.add(table, batch)
  }
  /** Returns how many rows the table has on both sides. */
  const checkCopy = async (table: Table): Promise<number> => {
    const expected = source.count(table)
    const equal = await countEqual(table, 'checking')
    const found = await target.count(table)
    if (equal !== expected || found !== expected)
      throw new Error(
        `The copy differs from the source: of ${expected} rows in ${table.name}, ${equal} are equal in the target, which has ${found}. Another program wrote to the target during the move. Move into an empty database.`,
      )
    return expected
  }

  source.lock()
  await target.prepare()
  for (const table of TABLES) await refuseOtherData(table)
  await target.mark(true)
  for (const table of TABLES) await copy(table)
  const tables: Record<string, number> = {}
  for (const table of TABLES) tables[table.name] = await checkCopy(table)
  await target.mark(false)
  const rows = Object.values(tables).reduce((sum, count) => sum + count, 0)
  return { rows, tables }
}

/** Both limits bound the memory of a batch, because one row may be large or rows may be many. */
const BATCH_MAX = { count: 500, size: 2_097_152 }
