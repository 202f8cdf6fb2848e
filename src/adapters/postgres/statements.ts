import type { Recorded } from '../../core/ports/world.ts'
import { type Columns, camelCase, columnsOf, valuesOf } from '../columns.ts'
import { memoized } from '../memoized.ts'
import type { Ask } from './connect.ts'
import { codeOf } from './error-codes.ts'
import { fixed, type Sql } from './open.ts'

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
  const [namesText, selectedText] = [template(names), template(selected.join(', '))]
  const intoText = template(`(${names}) select * from ?`)

  // Without the cast to text the driver would encode JSON a second time.
  const arrays = entries.map(([, type]) => (type === 'json' ? '?::text[]::json[]' : `?::${type}[]`))
  const arraysText = template(`unnest(${arrays.join(', ')}) as ${alias} (${names})`)
  const row = `(${entries.map(([, type]) => (type === 'text' ? '?::text' : `?::text::${type}`)).join(', ')})`
  const rowsText = (rowsCount: number) => Array(rowsCount).fill(row).join(', ')
  const shortText = memoized((rowsCount: number) =>
    template(`(values ${rowsText(rowsCount)}) as ${alias} (${names})`),
  )
  const longText = memoized((rowsCount: number) => template(`(${names}) values ${rowsText(rowsCount)}`))
  const allValues = (rows: readonly object[]) => rows.flatMap((row) => valuesOf(row, members))
  const fromArrays = (sql: Sql, rows: readonly object[]) => {
    const values = rows.map((row) => valuesOf(row, members))
    return sql(arraysText, ...members.map((_, i) => textArray(values.map((row) => row[i] ?? null))))
  }
  const fromShortest = (sql: Sql, rows: readonly object[]) =>
    rows.length === 0 || rows.length > VALUES_ROWS_MAX
      ? fromArrays(sql, rows)
      : sql(shortText(rows.length), ...allValues(rows))
  return {
    names: fixed((sql) => sql(namesText)),
    selected: fixed((sql) => sql(selectedText)),
    /** For reads that walk an index: PostgreSQL plans them alike whatever the list. */
    from: fromArrays,
    /** For look-ups by a whole key. */
    fromShortest,
    into: (sql: Sql, rows: readonly object[]) => sql(intoText, fromShortest(sql, rows)),
    /** As `values` however many, the only rows that Citus inserts where they belong without a two-phase commit. */
    values: (sql: Sql, rows: readonly object[]) => sql(longText(rows.length), ...allValues(rows)),
  }
}

/** Fixed text, as the driver takes it from a template literal; `?` is a parameter. */
export const template = (text: string): TemplateStringsArray => {
  const parts = text.split('?')
  return Object.assign(parts, { raw: parts })
}

/**
 * Somebody else got there first: an email or an idempotency key was taken (23505), two writes waited for each other
 * (40P01, 40001), a blank email was filled or a prospect erased (23514, by these two constraints), or a page group was archived (23502, of that
 * one column, or 22012, see `pages.record` and `erasures.record`). Nothing was saved. Citus names things in the message alone.
 */
const isOvertaken = (error: unknown): boolean => {
  const { message } = error as { message: string }
  const code = codeOf(error)
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

export const recordedUnlessOvertaken = (ask: Ask, ...write: Parameters<Ask>): Promise<Recorded> =>
  ask(...write).then(() => 'recorded', ifOvertaken<Recorded>('overtaken'))
