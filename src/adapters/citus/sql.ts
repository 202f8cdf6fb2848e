import type postgres from 'postgres'
import { type Columns, camelCase, columnsOf, memberOf, valuesOf } from '../stores/columns.ts'

type Rows = readonly (object | undefined)[]
/**
 * Sends one statement and returns its rows. Refuses `unavailable` if the database cannot answer in time. `tenantId` is
 * the one tenant that the statement names, if it does.
 */
export type Ask = <Answer extends Rows>(
  statement: (sql: postgres.Sql) => postgres.PendingQuery<Answer>,
  tenantId?: string | null,
) => Promise<Answer>
export type Value = string | number | boolean | null
type Part = Value | Fragment
/** A piece of a statement, with its parameters. */
export type Fragment = { readonly texts: readonly string[]; readonly parts: readonly Part[] }

/** A fragment belongs to no connection, so a constant one is made once; the driver would make each piece a promise. */
export const sql = (texts: readonly string[], ...parts: readonly Part[]): Fragment => ({ texts, parts })
export const nothing = sql``
export const joined = (fragments: readonly Fragment[], between: Fragment): Fragment =>
  fragments.reduce((before, fragment) => sql`${before}${between}${fragment}`)

/** Sends one statement for a tenant, or for none; prepared if it is short and the driver may. */
export type Query = (
  tenantId?: string | null,
) => <Row extends object>(texts: readonly string[], ...parts: readonly Part[]) => Promise<readonly Row[]>

export const queryOver =
  (ask: Ask): Query =>
  (tenantId = null) =>
  (texts, ...parts) => {
    const parameters: Value[] = []
    const text = textOf({ texts, parts }, parameters)
    return ask((sql) => sql.unsafe(text, parameters, { prepare: text.length < 10_000 }), tenantId)
  }

/** Adds the parameters to those of the statement. */
const textOf = ({ texts, parts }: Fragment, parameters: Value[]): string => {
  let text = texts[0] ?? ''
  let i = 0
  for (const part of parts) {
    text += typeof part === 'object' && part !== null ? textOf(part, parameters) : `$${parameters.push(part)}`
    text += texts[++i]
  }
  return text
}

/** A list as PostgreSQL writes an array: `{"a","b",NULL}`. */
export const textArray = (values: readonly Value[]): string => {
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

/** One row as `values` takes two thirds of its time as arrays; from 8 rows on, arrays cost Node less. */
const VALUES_ROWS_MAX = 7

/**
 * The columns of rows that are sent with a statement: short lists as `values`, longer ones as one array for each
 * column. The text with arrays is the same for any number of rows, so that it is prepared once. The member `pageId` of
 * a row is the column `page_id`. `selected` has JSON as text.
 */
export const columns = (alias: string, list: Columns | string) => {
  const types = typeof list === 'string' ? columnsOf(list) : list
  const entries = Object.entries(types)
  const members = Object.keys(types).map(camelCase)
  const names = Object.keys(types).join(', ')
  const selected = entries.map(([name, type]) =>
    type === 'json' ? `${alias}.${name}::text as ${name}` : `${alias}.${name}`,
  )

  // Without the cast to text the driver would encode JSON a second time.
  const arrays = entries.map(([, type]) => (type === 'json' ? '?::text[]::json[]' : `?::${type}[]`))
  const arraysOf = template(`unnest(${arrays.join(', ')}) as ${alias} (${names})`)
  const row = `(${entries.map(([, type]) => (type === 'text' ? '?::text' : `?::text::${type}`)).join(', ')})`
  const rowOf = template(row)
  const listed = (before: string, rows: readonly object[], after: string) => ({
    texts: [before, ...Array(rows.length - 1).fill(', '), after],
    parts: rows.map((row) => rowOf(valuesOf(row, members))),
  })
  const from = (rows: readonly object[]) =>
    arraysOf(members.map((member) => textArray(rows.map((row) => memberOf(row, member)))))
  const fromShortest = (rows: readonly object[]) =>
    rows.length === 0 || rows.length > VALUES_ROWS_MAX
      ? from(rows)
      : listed('(values ', rows, `) as ${alias} (${names})`)
  return {
    names: sql([names]),
    selected: sql([selected.join(', ')]),
    /** For reads that walk an index: PostgreSQL plans them the same way for any list. */
    from,
    /** For look-ups by a whole key. */
    fromShortest,
    /** The text after `insert into` and a table. */
    values: (rows: readonly object[]) => listed(`(${names}) values `, rows, ''),
  }
}

/** A fixed text in which `?` is a parameter. */
const template = (text: string) => {
  const texts = text.split('?')
  return (parts: readonly Value[]): Fragment => ({ texts, parts })
}
