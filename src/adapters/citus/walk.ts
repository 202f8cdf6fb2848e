import { ROWS_SCANNED_MAX, SLICE_BYTES_MAX } from '../../core/engine/slices.ts'
import { type Fragment, type Query, sql } from './sql.ts'

/** A list that is read along an index, of rows `l`. */
type Walk = {
  /** `from prospect_logs l where …` */
  readonly along: Fragment
  /** The columns of the order that the index has. Rows with the same key are read together. */
  readonly key: Fragment
  readonly newest: Fragment
  readonly matches: Fragment
  /** The columns to return. */
  readonly selected: Fragment
  /** Length of the texts of a row. */
  readonly bytes: Fragment
  readonly limit: number
  /** Returned with each row, or alone if there are none. */
  readonly owner?: Fragment
}
type Walked<Row> = Row & { readonly tenantId: string | null; readonly resume: string | null }

/** The first of these rows as `l`, until they fill a slice. */
export const slice = (rows: Fragment, bytes: Fragment, order: Fragment, limit: Fragment | number) => sql`(
  select * from (
    select l.*, sum(${bytes}) over (
      order by ${order} rows between unbounded preceding and 2 preceding
    ) as bytes_before
    from (${rows} order by ${order} limit ${limit}) l
  ) l
  where coalesce(l.bytes_before, 0) <= ${SLICE_BYTES_MAX}
) l`

/**
 * The rows that match, until they fill a slice, among the 10,000 newest. If these did not suffice, `resume` is the key
 * of the last one. It is looked up only then; otherwise no more rows are read than are returned. `first` is undefined
 * if there is no owner.
 *
 * Each limit is a `select`, whose value the planner does not know: then it assumes that few rows are wanted, and walks
 * along the index. With 10,000 as a constant it would sometimes collect and sort everything in the index.
 */
export const walk = async <Row extends object>(
  query: Query,
  tenantId: string,
  { along, key, newest, matches, selected, bytes, limit, owner = sql`(values (1)) as o (one)` }: Walk,
) => {
  const rows = await query(tenantId)<Walked<Row>>`
    with found as (
      select * from (
        select * ${along} order by ${key} desc fetch first (select ${ROWS_SCANNED_MAX}::int) rows with ties
      ) l
      where ${matches}
      order by ${key} desc fetch first (${limit + 1}::int) rows with ties
    )
    select ${selected}, o.*, stop.resume
    from ${owner}
      cross join (
        select case when (select count(*) from found) <= ${limit}::int then (
          select ${key} ${along} order by ${key} desc offset (select ${ROWS_SCANNED_MAX - 1}::int) limit 1
        ) end as resume
      ) stop
      left join ${slice(sql`select * from found l`, bytes, newest, limit + 1)} on true
    order by ${newest}`
  const [first] = rows
  return { first, rows: rows.filter((row) => row.tenantId !== null), resume: first?.resume ?? null }
}
