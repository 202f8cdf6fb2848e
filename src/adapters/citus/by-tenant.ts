import type { RowsQuery } from '../../core/ports/world.ts'
import type { Columns } from '../stores/columns.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import { columns, type Fragment, nothing, type Query, sql } from './sql.ts'

export type OfTenant = { readonly tenantId: string }
type Lists = Readonly<Record<string, readonly OfTenant[]>>

/** The one tenant of the rows that a statement reads. */
export type Of = {
  readonly tenantId: string
  /** Follows `tenant_id =` in a look-up in a `lateral`. */
  readonly tenant: Fragment
  /** Ends such a look-up: with a limit it uses its whole key, whatever the planner assumes of the tenant. */
  readonly once: Fragment
}

const ofTenant = (tenantId: string): Of => ({ tenantId, tenant: sql`${tenantId}`, once: sql`limit 1` })

/** Reads each tenant's part of these lists by a separate statement, which reads no rows of other tenants. */
export const eachTenant = async <Lookups extends Lists, Row>(
  lookups: Lookups,
  rowsOf: (tenantLookups: Lookups, of: Of) => Promise<readonly Row[]>,
): Promise<readonly Row[]> => {
  const tenantIds = [
    ...new Set(Object.values(lookups).flatMap((list) => list.map(({ tenantId }) => tenantId))),
  ]
  const [first, ...others] = tenantIds
  // The usual case: one tenant, so nothing needs to be divided and joined again.
  if (first !== undefined && others.length === 0) return rowsOf(lookups, ofTenant(first))
  const partOf = (id: string) =>
    Object.entries(lookups).map(([name, list]) => [name, list.filter(({ tenantId }) => tenantId === id)])
  const parts = tenantIds.map((id) => rowsOf(Object.fromEntries(partOf(id)) as Lookups, ofTenant(id)))
  return (await Promise.all(parts)).flat()
}

/** The rows of each lookup, in order, by its number. */
export const rowsOfEach = async <Lookup extends OfTenant, Row extends { readonly lookup: number }>(
  lookups: readonly Lookup[],
  rowsOf: (tenantLookups: readonly (Lookup & { number: number })[], of: Of) => Promise<readonly Row[]>,
): Promise<Row[][]> => {
  const numbered = lookups.map((lookup, number) => ({ ...lookup, number }))
  const rows = await eachTenant({ numbered }, (tenantLookups, of) => rowsOf(tenantLookups.numbered, of))
  const lists: Row[][] = lookups.map(() => [])
  for (const row of rows) lists[row.lookup]?.push(row)
  return lists
}

/** Reads a slice for each lookup, in order, by separate statements for each tenant. */
export const slicesByTenant = <Lookup extends RowsQuery, Row extends { readonly lookup: number }>(
  lookups: readonly Lookup[],
  rowsOf: Parameters<typeof rowsOfEach<Lookup & { beforeId: string; rowsMax: number }, Row>>[1],
) =>
  rowsOfEach(
    lookups.map((lookup) => ({
      ...lookup,
      beforeId: lookup.beforeId ?? AFTER_ALL_IDS,
      rowsMax: lookup.limit + 1,
    })),
    rowsOf,
  )

/** Finds for each lookup, in order, the row of a table with this whole key, or null. */
export const findBy = <Lookup extends OfTenant, Row extends object, Found>(
  query: Query,
  table: string,
  key: string,
  shown: Columns,
  asFound: (row: Row) => Found,
  ifOwner: (of: Of) => Fragment = () => nothing,
) => {
  const LOOKUPS = columns('lookup', `number int, tenant_id, ${key}`)
  const SHOWN = columns('l', shown)
  const isWanted = key.split(', ').map((column) => `l.${column} = lookup.${column}`)
  const wantedRow = sql([`select l.* from ${table} l where ${isWanted.join(' and ')} and l.tenant_id =`])
  return async (lookups: readonly Lookup[]): Promise<readonly (Found | null)[]> => {
    const found = await rowsOfEach(lookups, (tenantLookups, of) => {
      return query(of.tenantId)<Row & { lookup: number }>`
        select lookup.number as lookup, ${SHOWN.selected}
        from ${LOOKUPS.from(tenantLookups)} ${ifOwner(of)}
          cross join lateral (${wantedRow} ${of.tenant} ${of.once}) l`
    })
    return found.map(([row]) => (row === undefined ? null : asFound(row)))
  }
}
