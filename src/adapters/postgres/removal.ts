import type { ColumnType } from '../stores/columns.ts'
import type { Table } from '../stores/tables.ts'
import { type Piece, type Query, textArray } from './sql.ts'

/** A constant text in a statement: names of a table and its columns. */
const names = (text: string): Piece => ({ texts: [text], values: [] })

/** Values that come before every key: none begins with an empty text, and days count from 1970. */
const FIRST: Partial<Record<ColumnType, string>> = { timestamptz: '-infinity', int: '-1' }

/** Deletes the rows of tenants in one table. */
export const removalOf = ({ name, key, columns }: Table) => {
  const rest = key.filter((column) => column !== 'tenant_id')
  const listed = (form: (column: string, i: number) => string) => names(rest.map(form).join(', '))
  const table = names(name)
  const rowKey = listed((column) => `l.${column}`)
  const foundKey = listed((column) => `found.${column}`)
  const keyTexts = listed((column) => `found.${column}::text`)
  const newestFirst = listed((column) => `found.${column} desc`)
  const afterKey = listed((column, i) => `place.key[${i + 1}]::${columns[column]}`)
  const start = rest.map((column) => FIRST[columns[column] ?? 'text'] ?? '')

  return {
    name,
    isLeft: async (query: Query, tenantId: string): Promise<boolean> =>
      (await query(tenantId)`select 1 from ${table} l where l.tenant_id = ${tenantId} limit 1`).length > 0,

    /**
     * Returns the key of the last row; null if there was none behind the position. It goes on behind that row, so that
     * no step walks over index entries of rows already deleted.
     */
    removeSome: async (
      query: Query,
      tenantId: string,
      position: readonly string[],
      max: number,
    ): Promise<readonly string[] | null> => {
      if (rest.length === 0) {
        await query(tenantId)`delete from ${table} l where l.tenant_id = ${tenantId}`
        return null
      }
      const [last] = await query(tenantId)<{ key: string }>`
        with found as materialized (
          select l.tenant_id, ${rowKey}
          from ${table} l cross join (
            select ${textArray(position.length === 0 ? start : position)}::text[] as key
          ) place
          where l.tenant_id = ${tenantId} and (${rowKey}) > (${afterKey})
          order by ${rowKey} limit ${max}
        ), removed as (
          delete from ${table} l using found where (l.tenant_id, ${rowKey}) = (found.tenant_id, ${foundKey})
        )
        select json_build_array(${keyTexts})::text as key from found order by ${newestFirst} limit 1`
      return last ? JSON.parse(last.key) : null
    },
  }
}
