import { type Columns, camelCase, valuesOf } from '../rows.ts'
import type { Database } from './open.ts'

/** The values of a row for these columns: the member `pageId` is the column `page_id`. */
export const boundTo = (columns: Columns) => {
  const members = Object.keys(columns).map(camelCase)
  return (row: object) =>
    valuesOf(row, members).map((value) => (typeof value === 'boolean' ? Number(value) : value))
}

/** Inserts a row, within `write`. */
export const insertInto = (table: string, columns: Columns, onConflict = '') => {
  const names = Object.keys(columns)
  const sql = `insert into ${table} (${names}) values (${names.map(() => '?')}) ${onConflict}`
  const values = boundTo(columns)
  return (database: Database, row: object): void => database.run(sql, ...values(row))
}
