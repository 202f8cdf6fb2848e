import { type Columns, camelCase, columnsOf, valuesOf } from '../rows.ts'
import type { Sql } from './open.ts'

/** A list as PostgreSQL writes an array: `{"a","b",NULL}`. */
export const textArray = (values: readonly (string | number | boolean | null)[]): string => {
  let array = '{'
  for (const value of values) {
    if (array.length > 1) array += ','
    if (typeof value === 'string')
      array += `"${needsEscape.test(value) ? value.replace(escapes, '\\$&') : value}"`
    else array += value ?? 'NULL'
  }
  return `${array}}`
}
const needsEscape = /["\\]/
const escapes = /["\\]/g

/**
 * The columns of rows that a statement gets as one array each, named once. The member `pageId` of a row is the column
 * `page_id`. The text is the same for any number of rows, so it is prepared once.
 *
 * `names`: `page_id, …`. `selected`: `alias.page_id, …` with JSON as text. `from`: `unnest($1::text[], …) as alias (…)`.
 */
export const columns = (alias: string, list: Columns | string) => {
  const types = typeof list === 'string' ? columnsOf(list) : list
  const entries = Object.entries(types)
  const members = Object.keys(types).map(camelCase)
  const names = Object.keys(types).join(', ')
  // The driver would encode an array of JSON a second time. A parameter stands before each cast.
  const casts = entries.map(([, type]) => (type === 'json' ? '::text[]::json[]' : `::${type}[]`))
  const from = [...casts.slice(0, -1).map((cast) => `${cast}, `), `${casts.at(-1)}) as ${alias} (${names})`]
  const selected = entries.map(([name, type]) =>
    type === 'json' ? `${alias}.${name}::text as ${name}` : `${alias}.${name}`,
  )
  const templates = {
    names: template([names]),
    selected: template([selected.join(', ')]),
    from: template(['unnest(', ...from]),
  }
  return {
    names: (sql: Sql) => sql(templates.names),
    selected: (sql: Sql) => sql(templates.selected),
    from: (sql: Sql, rows: readonly object[]) => {
      const values = rows.map((row) => valuesOf(row, members))
      return sql(templates.from, ...members.map((_, i) => textArray(values.map((row) => row[i] ?? null))))
    },
  }
}

/** Fixed text, as the driver takes it from a template literal: with a parameter between any two parts. */
const template = (parts: readonly string[]): TemplateStringsArray => Object.assign([...parts], { raw: parts })
