import type { Recorded } from '../../core/ports/world.ts'
import { type Columns, camelCase, columnsOf, memberOf, valuesOf } from '../stores/columns.ts'
import { sqlStateOf } from './error-codes.ts'
import { type Fragment, sql, type Value } from './sql.ts'

/** A list as PostgreSQL writes an array: `{"a","b",NULL}`. */
export const textArray = (values: readonly Value[]): string => {
  let array = '{'
  for (const value of values) {
    if (array.length > 1) array += ','
    array += typeof value === 'string' ? quoted(value) : (value ?? 'NULL')
  }
  return `${array}}`
}
/** JSON escapes quotes and backslashes alike, several times faster; what else it would escape is not left to it. */
const quoted = (text: string): string => {
  if (!escaped.test(text)) return `"${text}"`
  return othersInJson.test(text) ? `"${text.replace(allEscaped, '\\$&')}"` : JSON.stringify(text)
}
const escaped = /["\\]/
const allEscaped = /["\\]/g
const othersInJson = /[^ -\ud7ff\ue000-\uffff]/

/** One row as `values` takes two thirds of the time that it takes as arrays; from 8 rows on arrays cost Node less. */
const VALUES_ROWS_MAX = 7

/**
 * The columns of rows that a statement gets, named once: short lists as `values`, longer ones as one array for each
 * column, whose text is the same for any number of rows, so that it is prepared once. The member `pageId` of a row is
 * the column `page_id`. `selected` has JSON as text.
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
    /** For reads that walk an index: PostgreSQL plans them alike whatever the list. */
    from,
    /** For look-ups by a whole key. */
    fromShortest,
    into: (rows: readonly object[]) => sql`(${sql([names])}) select * from ${fromShortest(rows)}`,
    /** As `values` however many, the only rows that Citus inserts where they belong without a two-phase commit. */
    values: (rows: readonly object[]) => listed(`(${names}) values `, rows, ''),
  }
}

/** Fixed text in which `?` is a parameter. */
const template = (text: string) => {
  const texts = text.split('?')
  return (parts: readonly Value[]): Fragment => ({ texts, parts })
}

/**
 * Another writer was faster: an email or an idempotency key was taken (23505), two writes waited for each other
 * (40P01, 40001), a blank email was filled or a prospect erased (23514, by these two constraints), or a page group was archived (23502, of that
 * one column, or 22012, see `pages.record` and `erasures.record`). Nothing was saved. Citus names things in the message alone.
 */
const isOvertaken = (error: unknown): boolean => {
  const why = Object(error).cause ?? error
  const { message = '' } = Object(why)
  const code = sqlStateOf(why)
  if (code === '23514') return /prospects_(email_hash_is_one|erased_is_blank)/.test(message)
  if (code === '23502') return message.includes('pages_count')
  return ['23505', '40P01', '40001', '22012'].includes(code)
}

/** What a write answers if it was overtaken. */
export const ifOvertaken =
  <Answer>(answer: Answer) =>
  (error: unknown): Answer => {
    if (isOvertaken(error)) return answer
    throw error
  }

export const unlessOvertaken = (written: Promise<unknown>): Promise<Recorded> =>
  written.then(() => 'recorded', ifOvertaken<Recorded>('overtaken'))

/** As `laterThan`, of expressions. In UTC, because Citus wants functions that no setting changes. */
export const later = (last: Fragment, now: Fragment) =>
  sql`greatest(${now}, (${last} at time zone 'UTC' + interval '1 ms') at time zone 'UTC')`
