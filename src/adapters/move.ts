/** In the order in which they are copied: what others refer to comes first. */
export const TABLES = [
  'tenants',
  'brands',
  'api_keys',
  'prospects',
  'prospect_logs',
  'page_groups',
  'page_counts',
  'pages',
  'page_versions',
] as const
export type Table = (typeof TABLES)[number]

/** A row with the columns of its table; JSON and times are text. */
export type Row = Readonly<Record<string, string | number | null>>

/** A database that stands still while it is read. */
export type Source = {
  /** Refuses a database that is not at this program's schema, or that somebody else has open. */
  readonly hold: () => void
  readonly count: (table: Table) => number
  /** All rows, by primary key. */
  readonly rows: (table: Table) => Iterable<Row>
  readonly close: () => void
}
export type Target = {
  /** Makes the schema. Refuses a database that a server has open. */
  readonly prepare: () => Promise<void>
  readonly count: (table: Table) => Promise<number>
  /** Adds those whose key is not there yet. */
  readonly add: (table: Table, rows: readonly Row[]) => Promise<void>
  /** How many of these rows are there, equal in every column. */
  readonly equal: (table: Table, rows: readonly Row[]) => Promise<number>
  readonly close: () => Promise<void>
}
export type Progress = {
  readonly step: 'comparing' | 'copying' | 'checking'
  readonly table: Table
  readonly rows: number
  readonly of: number
}
type Told = (progress: Progress) => void
export type Moved = { readonly rows: number; readonly tables: Readonly<Record<string, number>> }

/** Bounds what memory holds of the rows at a time. */
const ROWS_AT_ONCE = 500
const CHARACTERS_AT_ONCE = 2_097_152

/**
 * Copies every row of a source that stands still into a target, and then compares all of them. It may be stopped at any
 * moment and started again: a target that holds nothing but rows of the source, each equal, is one where it was stopped.
 * Any other is refused before a row is written. The source is only read.
 */
export const move = async (source: Source, target: Target, told: Told = () => {}): Promise<Moved> => {
  source.hold()
  await target.prepare()
  for (const table of TABLES) await refuseOthers(source, target, table, told)
  for (const table of TABLES)
    await inBatches(source, table, 'copying', told, (rows) => target.add(table, rows))
  const tables: Record<string, number> = {}
  for (const table of TABLES) tables[table] = await check(source, target, table, told)
  return { rows: Object.values(tables).reduce((sum, rows) => sum + rows, 0), tables }
}

const refuseOthers = async (source: Source, target: Target, table: Table, told: Told): Promise<void> => {
  const there = await target.count(table)
  if (there === 0) return
  const equal = await countEqual(source, target, table, 'comparing', told)
  if (equal !== there)
    throw new Error(
      `The target holds other data: ${there - equal} of its ${there} rows in ${table} are not those of the source. Nothing was written; move into an empty database.`,
    )
}

const check = async (source: Source, target: Target, table: Table, told: Told): Promise<number> => {
  const wanted = source.count(table)
  const equal = await countEqual(source, target, table, 'checking', told)
  const there = await target.count(table)
  if (equal !== wanted || there !== wanted)
    throw new Error(
      `The copy is not right: of ${wanted} rows in ${table} ${equal} are equal in the target, which has ${there}. Somebody else wrote to it; move into an empty database.`,
    )
  return wanted
}

const countEqual = async (
  source: Source,
  target: Target,
  table: Table,
  step: Progress['step'],
  told: Told,
): Promise<number> => {
  let equal = 0
  await inBatches(source, table, step, told, async (rows) => {
    equal += await target.equal(table, rows)
  })
  return equal
}

const inBatches = async (
  source: Source,
  table: Table,
  step: Progress['step'],
  told: Told,
  take: (rows: readonly Row[]) => Promise<void>,
): Promise<void> => {
  const of = source.count(table)
  let taken = 0
  for (const rows of batchesOf(source.rows(table))) {
    await take(rows)
    taken += rows.length
    told({ step, table, rows: taken, of })
  }
}

function* batchesOf(rows: Iterable<Row>): Generator<readonly Row[]> {
  let batch: Row[] = []
  let characters = 0
  for (const row of rows) {
    batch.push(row)
    for (const value of Object.values(row)) characters += typeof value === 'string' ? value.length : 0
    if (batch.length < ROWS_AT_ONCE && characters < CHARACTERS_AT_ONCE) continue
    yield batch
    batch = []
    characters = 0
  }
  if (batch.length > 0) yield batch
}
