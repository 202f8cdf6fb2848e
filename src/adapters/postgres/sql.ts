import type postgres from 'postgres'
import { type Columns, camelCase, columnsOf, memberOf } from '../stores/columns.ts'

type Rows = readonly (object | undefined)[]
/**
 * Sends one statement and returns its rows. Refuses `unavailable` if the database cannot answer in time. `tenantId` is
 * the one tenant that the statement is for, if there is one: tenants take turns.
 */
export type Ask = <Answer extends Rows>(
  statement: (sql: postgres.Sql) => postgres.PendingQuery<Answer>,
  tenantId?: string | null,
) => Promise<Answer>

/** A piece of a statement. It is written with the driver's template of the connection that sends the statement. */
export type Piece = (sql: postgres.Sql) => postgres.Fragment
type Value = string | number | boolean | null | Piece

/** Sends one statement for a tenant, or for none, written in the driver's template. */
export type Query = (
  tenantId?: string | null,
) => <Row extends object>(texts: TemplateStringsArray, ...values: readonly Value[]) => Promise<readonly Row[]>

export const queryOver =
  (ask: Ask): Query =>
  (tenantId = null) =>
  (texts, ...values) =>
    ask((sql) => written(sql, texts, values), tenantId)

export const piece =
  (texts: TemplateStringsArray, ...values: readonly Value[]): Piece =>
  (sql) =>
    written(sql, texts, values)

const written = <Row extends object>(
  sql: postgres.Sql,
  texts: TemplateStringsArray,
  values: readonly Value[],
): postgres.PendingQuery<Row[]> =>
  sql<Row[]>(texts, ...values.map((value) => (typeof value === 'function' ? value(sql) : value)))

/** A list as PostgreSQL writes an array: `{"a","b",NULL}`. The driver takes half as long again, and asks for types first. */
export const textArray = (values: readonly (string | number | null)[]): string => {
  let array = '{'
  for (const value of values) {
    if (array.length > 1) array += ','
    array += typeof value === 'string' ? quoted(value) : (value ?? 'NULL')
  }
  return `${array}}`
}
/** JSON escapes quotes and backslashes in the same way, several times faster. It is not used if it would escape more. */
const quoted = (text: string): string => {
  if (!escaped.test(text)) return `"${text}"`
  return othersInJson.test(text) ? `"${text.replace(allEscaped, '\\$&')}"` : JSON.stringify(text)
}
const escaped = /["\\]/
const allEscaped = /["\\]/g
const othersInJson = /[^ -\ud7ff\ue000-\uffff]/

/**
 * The columns of a table, or of a list that a statement brings along. The member `pageId` of a row is the column
 * `page_id`.
 *
 * Rows are one parameter, a JSON text, so that a statement has the same text for any number of them and is prepared once.
 * For 32 activities that takes Node and PostgreSQL two thirds of their time with an array for each column, and half
 * of that with `values`; for one activity it takes as long.
 */
export const columns = (alias: string, list: Columns | string) => {
  const types = Object.entries(typeof list === 'string' ? columnsOf(list) : list)
  const members = types.map(([name]) => ({ name, member: camelCase(name) }))
  const isJson = (type: string) => type === 'json'
  const text = (form: (name: string, type: string) => string): Piece => {
    const written = types.map(([name, type]) => form(name, type)).join(', ')
    return (sql) => sql.unsafe(written)
  }
  /** A JSON column is sent as text, which keeps every character. */
  const recordTypes = types.map(([name, type]) => `${name} ${isJson(type) ? 'text' : type}`).join(', ')
  const asRecord: Piece = (sql) => sql.unsafe(`as ${alias} (${recordTypes})`)
  const recordOf = (row: object) => {
    const record: Record<string, unknown> = {}
    for (const { name, member } of members) {
      const value = (row as Readonly<Record<string, unknown>>)[member]
      record[name] = Array.isArray(value) ? value : memberOf(row, member)
    }
    return record
  }
  return {
    /** `page_id, content` */
    names: text((name) => name),
    /** `p.page_id, p.content::text as content`: as rows are read. */
    selected: text((name, type) => `${alias}.${name}${isJson(type) ? `::text as ${name}` : ''}`),
    /** `p.page_id, p.content::json`: as the rows of `from` are stored. */
    values: text((name, type) => `${alias}.${name}${isJson(type) ? '::json' : ''}`),
    /** These rows, for the `from` of a statement. */
    from: (rows: readonly object[]): Piece => {
      const json = JSON.stringify(rows.map(recordOf))
      return piece`json_to_recordset(${json}::text::json) ${asRecord}`
    },
  }
}
