import type { RowsQuery } from '../../core/ports/world.ts'
import type { Columns } from '../stores/columns.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import type { Of, OfEach, OfTenant } from './forms.ts'
import { columns, type Fragment, nothing, type Query, sql } from './sql.ts'

const ofTenant = (tenantId: string): Of => ({ tenantId, tenant: sql`${tenantId}`, once: sql`limit 1` })

/** Reads each tenant's part of these lists by a separate statement, which reads no rows of other tenants. */
export const eachTenant: OfEach = async (wants, rowsOf) => {
  const tenantIds = [...new Set(Object.values(wants).flatMap((list) => list.map(({ tenantId }) => tenantId)))]
  const [first, ...others] = tenantIds
  // The usual case: one tenant, so nothing needs to be divided and joined again.
  if (first !== undefined && others.length === 0) return rowsOf(wants, ofTenant(first))
  const partOf = (id: string) =>
    Object.entries(wants).map(([name, list]) => [name, list.filter(({ tenantId }) => tenantId === id)])
  const parts = tenantIds.map((id) => rowsOf(Object.fromEntries(partOf(id)), ofTenant(id)))
  return (await Promise.all(parts)).flat()
}

/** The rows of each want, in order, by its number. */
export const rowsOfEach = async <Want extends OfTenant, Row extends { readonly want: number }>(
  ofEach: OfEach,
  wants: readonly Want[],
  rowsOf: (tenantWants: readonly (Want & { number: number })[], of: Of) => Promise<readonly Row[]>,
): Promise<Row[][]> => {
  const numbered = wants.map((want, number) => ({ ...want, number }))
  const rows = await ofEach({ numbered }, (tenantWants, of) => rowsOf(tenantWants.numbered, of))
  const lists: Row[][] = wants.map(() => [])
  for (const row of rows) lists[row.want]?.push(row)
  return lists
}

/** Reads a slice for each want, in order, by separate statements for each tenant. */
export const slicesByTenant = <Want extends RowsQuery, Row extends { readonly want: number }>(
  wants: readonly Want[],
  rowsOf: Parameters<typeof rowsOfEach<Want & { beforeId: string; rowsMax: number }, Row>>[2],
) =>
  rowsOfEach(
    eachTenant,
    wants.map((want) => ({ ...want, beforeId: want.beforeId ?? AFTER_ALL_IDS, rowsMax: want.limit + 1 })),
    rowsOf,
  )

/** Finds for each want, in order, the row of a table with this whole key, or null. */
export const findBy = <Want extends OfTenant, Row extends object, Found>(
  query: Query,
  ofEach: OfEach,
  table: string,
  key: string,
  shown: Columns,
  asFound: (row: Row) => Found,
  ifOwner: (of: Of) => Fragment = () => nothing,
) => {
  const WANTS = columns('want', `number int, tenant_id, ${key}`)
  const SHOWN = columns('l', shown)
  const isWanted = key.split(', ').map((column) => `l.${column} = want.${column}`)
  const wantedRow = sql([`select l.* from ${table} l where ${isWanted.join(' and ')} and l.tenant_id =`])
  return async (wants: readonly Want[]): Promise<readonly (Found | null)[]> => {
    const found = await rowsOfEach(ofEach, wants, (tenantWants, of) => {
      return query(of.tenantId)<Row & { want: number }>`
        select want.number as want, ${SHOWN.selected}
        from ${WANTS.from(tenantWants)} ${ifOwner(of)}
          cross join lateral (${wantedRow} ${of.tenant} ${of.once}) l`
    })
    return found.map(([row]) => (row === undefined ? null : asFound(row)))
  }
}
