import { readMigrations } from '../adapters/migrations.ts'
import { sqliteSource } from './move-from-sqlite.ts'
import { TABLES, type Table } from './move-tables.ts'
import { postgresTarget } from './move-to-postgres.ts'

/** A row as SQLite keeps it. */
export type Row = Readonly<Record<string, string | number | null>>
export type Source = {
  /** Refuses a database with another schema than this program's, or that another process has open. */
  readonly lock: () => void
  readonly count: (table: Table) => number
  /** All rows, in the order of the key. */
  readonly rows: (table: Table) => Iterable<Row>
  readonly close: () => void
}
export type Target = {
  /** Migrates. Refuses a database that a server has open. */
  readonly prepare: () => Promise<void>
  readonly count: (table: Table) => Promise<number>
  /** No server starts on a target that is marked as unfinished. */
  readonly mark: (isUnfinished: boolean) => Promise<void>
  /** Adds the rows whose key is missing. */
  readonly add: (table: Table, rows: readonly Row[]) => Promise<void>
  /** How many of these rows the target has, equal in every column. */
  readonly countEqual: (table: Table, rows: readonly Row[]) => Promise<number>
  readonly close: () => Promise<void>
}
export type Progress = {
  readonly step: 'comparing' | 'copying' | 'checking'
  readonly table: string
  readonly rows: number
  readonly of: number
}
type OnProgress = (progress: Progress) => void
export type Moved = { readonly rows: number; readonly tables: Readonly<Record<string, number>> }

/** Copies an embedded database, which no other process may have open, into an empty PostgreSQL database. */
export const moveToPostgres = async (
  path: string,
  url: string,
  onProgress: OnProgress,
  warn: (message: string) => void,
): Promise<Moved> => {
  const source = sqliteSource(path, readMigrations('sqlite').length)
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
export const move = async (
  source: Source,
  target: Target,
  onProgress: OnProgress = () => {},
): Promise<Moved> => {
  const inBatches = async (
    table: Table,
    step: Progress['step'],
    take: (rows: readonly Row[]) => Promise<void>,
  ) => {
    const of = source.count(table)
    let taken = 0
    for (const rows of batchesOf(source.rows(table))) {
      await take(rows)
      taken += rows.length
      onProgress({ step, table: table.name, rows: taken, of })
    }
  }
  const countEqual = async (table: Table, step: Progress['step']): Promise<number> => {
    let equal = 0
    await inBatches(table, step, async (rows) => {
      equal += await target.countEqual(table, rows)
    })
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
  for (const table of TABLES) await inBatches(table, 'copying', (rows) => target.add(table, rows))
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
const BATCH_ROWS_MAX = 500
const BATCH_CHARACTERS_MAX = 2_097_152

function* batchesOf(rows: Iterable<Row>): Generator<readonly Row[]> {
  let batch: Row[] = []
  let characters = 0
  for (const row of rows) {
    batch.push(row)
    for (const value of Object.values(row)) characters += typeof value === 'string' ? value.length : 0
    if (batch.length < BATCH_ROWS_MAX && characters < BATCH_CHARACTERS_MAX) continue
    yield batch
    batch = []
    characters = 0
  }
  if (batch.length > 0) yield batch
}
