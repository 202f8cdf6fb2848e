import type { SliceWant } from '../../core/ports/world.ts'
import type { Columns } from '../stores/columns.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import { type Fragment, nothing, type Query, sql } from './sql.ts'
import { columns } from './statements.ts'

// On a cluster each tenant lives on one machine, and only a parameter routes a statement there: it names its one tenant
// for every table that it touches. On a single PostgreSQL a statement serves any number of tenants.

type OfTenant = { readonly tenantId: string }
type Lists = Readonly<Record<string, readonly OfTenant[]>>

/** Reads all of these lists at once, without naming a tenant; on a cluster, each tenant's part of them separately. */
export const byTenant = async <Wants extends Lists, Row>(
  isCluster: boolean,
  wants: Wants,
  rowsOf: (tenantId: string | null, its: Wants) => Promise<readonly Row[]> | readonly Row[],
): Promise<readonly Row[]> => {
  if (!isCluster) return rowsOf(null, wants)
  const tenantIds = [...new Set(Object.values(wants).flatMap((list) => list.map(({ tenantId }) => tenantId)))]
  const [first, ...others] = tenantIds
  // The usual case: one tenant, so nothing needs to be divided and joined again.
  if (first !== undefined && others.length === 0) return rowsOf(first, wants)
  const ofTenant = (id: string) =>
    Object.entries(wants).map(([name, list]) => [name, list.filter(({ tenantId }) => tenantId === id)])
  const parts = tenantIds.map((id) => rowsOf(id, Object.fromEntries(ofTenant(id))))
  return (await Promise.all(parts)).flat()
}

/** The tenant of a look-up in a `lateral`. */
export const wantedTenant = (tenantId: string | null) => tenantId ?? TENANT_OF_WANT
const TENANT_OF_WANT = sql`want.tenant_id`

/**
 * Ends a look-up in a `lateral`. If the tenant is a parameter, a limit makes each look-up use its whole key, whatever the
 * planner assumes of the tenant. If the tenant comes with the list, that is so anyway, and a join is faster.
 */
export const upTo = (rows: number, tenantId: string | null) =>
  tenantId === null ? nothing : sql`limit ${rows}`

/** Longer lists would take more parameters than a statement can have. Gathered batches are never that long. */
const VALUES_ROWS_MAX = 2_000

/** The tenant whose machine of a cluster writes these rows; null without a cluster, or if `values` cannot take them. */
export const leadTenantOf = (isCluster: boolean, rows: Lists[string]): string | null =>
  (isCluster && rows.length <= VALUES_ROWS_MAX && rows[0]?.tenantId) || null

/** Sorts rows by these members. They are locked in this order, so it must be the same everywhere; any order will do. */
export const sortedBy = <Row extends object>(rows: readonly Row[], ...members: (keyof Row)[]): Row[] =>
  rows
    .map((row) => [members.map((member) => row[member]).join(' '), row] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, row]) => row)

/** The rows of each want, in order, by its number: read for all tenants together or for each tenant separately. */
export const rowsOfEach = async <Want extends OfTenant, Row extends { readonly want: number }>(
  isTogether: boolean,
  wants: readonly Want[],
  rowsOf: (tenantId: string | null, its: readonly (Want & { number: number })[]) => Promise<readonly Row[]>,
): Promise<Row[][]> => {
  const numbered = wants.map((want, number) => ({ ...want, number }))
  const rows = await byTenant(!isTogether, { numbered }, (tenantId, its) => rowsOf(tenantId, its.numbered))
  const lists: Row[][] = wants.map(() => [])
  for (const row of rows) lists[row.want]?.push(row)
  return lists
}

/** Reads a slice for each want, in order, by separate statements for each tenant: none reads rows of other tenants. */
export const slicesByTenant = <Want extends SliceWant, Row extends { readonly want: number }>(
  wants: readonly Want[],
  rowsOf: Parameters<typeof rowsOfEach<Want & { beforeId: string; rowsMax: number }, Row>>[2],
) =>
  rowsOfEach(
    false,
    wants.map((want) => ({ ...want, beforeId: want.beforeId ?? AFTER_ALL_IDS, rowsMax: want.limit + 1 })),
    rowsOf,
  )

/** Finds for each want, in order, the row of a table with this whole key, or null. */
export const findBy = <Row extends object, Found>(
  query: Query,
  isTogether: boolean,
  table: string,
  key: string,
  shown: Columns,
  asFound: (row: Row) => Found,
  ifOwner: (tenantId: string | null) => Fragment = () => nothing,
) => {
  const WANTS = columns('want', `number int, tenant_id, ${key}`)
  const SHOWN = columns('l', shown)
  const isWanted = key.split(', ').map((column) => `l.${column} = want.${column}`)
  const wantedRow = sql([`select l.* from ${table} l where ${isWanted.join(' and ')} and l.tenant_id =`])
  return async (wants: readonly OfTenant[]): Promise<readonly (Found | null)[]> => {
    const found = await rowsOfEach(isTogether, wants, (tenantId, its) => {
      return query(tenantId)<Row & { want: number }>`
        select want.number as want, ${SHOWN.selected}
        from ${WANTS.from(its)} ${ifOwner(tenantId)}
          cross join lateral (${wantedRow} ${wantedTenant(tenantId)} ${upTo(1, tenantId)}) l`
    })
    return found.map(([row]) => (row === undefined ? null : asFound(row)))
  }
}
