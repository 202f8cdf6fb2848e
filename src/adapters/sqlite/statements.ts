import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { memoized } from '../../core/engine/memoized.ts'
import { type Columns, camelCase, valuesOf } from '../stores/columns.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import { withMappedErrors } from './error-codes.ts'

/** Values for the names in a statement, such as `:pageId`, and maybe more. */
export type Values = Readonly<Record<string, unknown>>

const NAMED_VALUES = /:\w+/g
/** The names of these columns' values in a statement. */
export const valuesFor = (columns: readonly string[]): string =>
  columns.map((column) => `:${camelCase(column)}`).join()

/** A slice starts before this id. */
export const BEFORE_ID = `coalesce(:beforeId, '${AFTER_ALL_IDS}')`

/** The statement that inserts a row. */
export const insertInto = (table: string, columns: Columns): string => {
  const names = Object.keys(columns)
  return `insert into ${table} (${names}) values (${valuesFor(names)})`
}

export type Statements = ReturnType<typeof createStatements>

/**
 * Runs statements by their fixed text, which stays prepared: `:pageId` is the member `pageId` of the values. Rows have
 * camelCase members. `refuseMoved` is called before each statement.
 */
export const createStatements = (file: DatabaseSync, refuseMoved: () => void) => {
  let changedRows = 0
  /** Values are bound by position: SQLite refuses an object that has more members than the text names. */
  const statements = memoized((sql: string) => {
    const members = Array.from(sql.match(NAMED_VALUES) ?? [], (name) => name.slice(1))
    const boundTo = (values: Values): SQLInputValue[] =>
      valuesOf(values, members).map((value) => (typeof value === 'boolean' ? Number(value) : value))
    return { statement: file.prepare(sql.replace(NAMED_VALUES, '?')), boundTo }
  })
  const prepared = (sql: string) => {
    refuseMoved()
    return statements(sql)
  }

  return {
    /** Returns the number of rows that changed. Throws the error of SQLite: a transaction maps it. */
    run: (sql: string, values: Values = {}): number => {
      const { statement, boundTo } = prepared(sql)
      const changes = Number(statement.run(...boundTo(values)).changes)
      changedRows += changes
      return changes
    },
    /** How many rows all calls of `run` have changed. */
    changedRows: (): number => changedRows,

    get: <Row>(sql: string, values: Values = {}): Row | null =>
      withMappedErrors(() => {
        const { statement, boundTo } = prepared(sql)
        const found = statement.get(...boundTo(values))
        return found ? camel<Row>(found) : null
      }),

    /** Returns the result of `take`, which reads the rows one by one and may stop early. */
    iterate: <Row, Answer>(take: (rows: Iterable<Row>) => Answer, sql: string, values: Values = {}): Answer =>
      withMappedErrors(() => {
        const { statement, boundTo } = prepared(sql)
        return take(camelEach<Row>(statement.iterate(...boundTo(values))))
      }),
  }
}

const camel = <Row>(row: Record<string, unknown>): Row => {
  const named: Record<string, unknown> = {}
  for (const column in row) named[camelCase(column)] = row[column]
  return named as Row
}
const camelEach = function* <Row>(rows: Iterable<Record<string, unknown>>) {
  for (const row of rows) yield camel<Row>(row)
}
