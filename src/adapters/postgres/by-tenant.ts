import { fixed, nothing, type Sql } from './open.ts'

// On a cluster each tenant lives on one machine, and only a parameter leads a statement there: it names its one tenant
// for every table that it touches. On a single PostgreSQL a statement serves any number of tenants.

type Lists = Readonly<Record<string, readonly { readonly tenantId: string }[]>>

/** Asks for all of these lists at once, in the name of no tenant; on a cluster for each tenant's part of them. */
export const byTenant = async <Wants extends Lists, Row>(
  isCluster: boolean,
  wants: Wants,
  rowsOf: (tenantId: string | null, its: Wants) => Promise<readonly Row[]> | readonly Row[],
): Promise<readonly Row[]> => {
  if (!isCluster) return rowsOf(null, wants)
  const ofTenant = (id: string) =>
    Object.entries(wants).map(([name, list]) => [name, list.filter(({ tenantId }) => tenantId === id)])
  const tenantIds = new Set(Object.values(wants).flatMap((list) => list.map(({ tenantId }) => tenantId)))
  const parts = [...tenantIds].map((id) =>
    rowsOf(id, tenantIds.size === 1 ? wants : Object.fromEntries(ofTenant(id))),
  )
  return (await Promise.all(parts)).flat()
}

/** The tenant of a look-up, which stands in a `lateral`. */
export const wantedTenant = (sql: Sql, tenantId: string | null) => tenantId ?? tenantOfWant(sql)
const tenantOfWant = fixed((sql) => sql`want.tenant_id`)

/**
 * Ends such a look-up. Where the tenant is a parameter, a limit keeps each look-up by its whole key, whatever the planner
 * believes of the tenant. Where it comes with the list, only the whole key is looked up anyway, and a join is faster.
 */
export const upTo = (rows: number, sql: Sql, tenantId: string | null) =>
  tenantId === null ? nothing(sql) : sql`limit ${rows}`

/** Longer lists, which no gathering makes, would take more parameters than a statement can have. */
const VALUES_ROWS_MAX = 2_000

/** The one tenant of what a cluster is to write; null if there are several, or too many rows for its own form. */
export const tenantOf = (isCluster: boolean, rows: Lists[string]): string | null => {
  const tenantId = (isCluster && rows.length <= VALUES_ROWS_MAX && rows[0]?.tenantId) || null
  return rows.every((row) => row.tenantId === tenantId) ? tenantId : null
}

/** Sorted by these members. Any order will do that is the same everywhere: rows are locked in it. */
export const sortedBy = <Row extends object>(rows: readonly Row[], ...members: (keyof Row)[]): Row[] =>
  rows
    .map((row) => [members.map((member) => row[member]).join(' '), row] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, row]) => row)
