import { camelName, valuesOf } from '../rows.ts'

/** The values of a row for these columns: the member `pageId` is the column `page_id`. */
export const boundTo = (columns: readonly string[]) => {
  const members = columns.map(camelName)
  return (row: object) =>
    valuesOf(row, members).map((value) => (typeof value === 'boolean' ? Number(value) : value))
}

/** The insert of a row, with its columns named once. */
export const insertInto = (table: string, types: Readonly<Record<string, string>>) => {
  const columns = Object.keys(types)
  return {
    sql: `insert into ${table} (${columns}) values (${columns.map(() => '?')})`,
    values: boundTo(columns),
  }
}
