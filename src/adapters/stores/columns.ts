import { memoized } from '../../core/engine/memoized.ts'
import { camelCase as convertToCamelCase } from '../../json/case.ts'
import type { RawJson } from '../../shapes/json.ts'

/** Types of PostgreSQL. SQLite keeps JSON and times as text, lists as words separated by spaces, booleans as 0 and 1. */
export type ColumnType = 'text' | 'text[]' | 'json' | 'boolean' | 'int' | 'bigint' | 'timestamptz' | 'tid'
export type Columns = Readonly<Record<string, ColumnType>>

/** Written as in SQL: `page_id, actions json`. A column without a type is text. */
export const columnsOf = (list: string): Columns =>
  Object.fromEntries(
    list.split(/,\s+/).map((column) => {
      const [name = '', type = 'text'] = column.split(' ')
      return [name, type as ColumnType]
    }),
  )

/** A column of SQL, or of an embedder's driver, in camel case. There are few, and each row has them. */
export const camelCase = memoized(convertToCamelCase)

type Value = string | number | boolean | null
/** The value of a row's member, with JSON as text. */
export const memberOf = (row: object, member: string): Value => {
  const value = (row as Readonly<Record<string, Value | RawJson | undefined>>)[member]
  if (value === undefined) throw new Error(`A row lacks ${member}.`)
  return typeof value === 'object' && value !== null ? value.rawJson : value
}
export const valuesOf = (row: object, members: readonly string[]): Value[] =>
  members.map((member) => memberOf(row, member))
