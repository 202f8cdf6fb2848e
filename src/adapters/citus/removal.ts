import type { Table } from '../stores/tables.ts'
import { type Fragment, joined, type Query, sql } from './sql.ts'

/** Deletes the rows of tenants in one table. */
export const removalOf = ({ name, key, columns }: Table) => {
  const table = sql([name])
  const rest = key.filter((column) => column !== 'tenant_id')
  const listed = (form: (column: string) => string) => sql([rest.map(form).join(', ')])
  /** Matches rows after the last deleted one, so that no step walks over index entries of rows already deleted. */
  const isAfter = (position: readonly string[]): Fragment =>
    position.length === 0
      ? sql`true`
      : sql`(${listed((column) => `l.${column}`)}) > (${joined(
          position.map((value, i) => sql`${value}::text::${sql([columns[rest[i] ?? ''] ?? 'text'])}`),
          sql`, `,
        )})`
  return {
    name,
    isLeft: async (query: Query, tenantId: string): Promise<boolean> =>
      (await query(tenantId)`select 1 from ${table} where tenant_id = ${tenantId} limit 1`).length > 0,
    /** Returns the key of the last row; null if there was none behind the position. */
    removeSome: async (
      query: Query,
      tenantId: string,
      position: readonly string[],
      max: number,
    ): Promise<readonly string[] | null> => {
      if (rest.length === 0) {
        await query(tenantId)`delete from ${table} where tenant_id = ${tenantId}`
        return null
      }
      const [last] = await query(tenantId)<{ key: string }>`
        with found as materialized (
          select ${listed((column) => `l.${column}`)} from ${table} l
          where l.tenant_id = ${tenantId} and ${isAfter(position)}
          order by ${listed((column) => `l.${column}`)} limit ${max}
        ), removed as (
          delete from ${table} l using found
          where l.tenant_id = ${tenantId} and ${sql([rest.map((column) => `l.${column} = found.${column}`).join(' and ')])}
        )
        select json_build_array(${listed((column) => `${column}::text`)})::text as key from found
        order by ${listed((column) => `${column} desc`)} limit 1`
      return last ? JSON.parse(last.key) : null
    },
  }
}
