import { accessSync, constants, existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setTimeout as pauseFor } from 'node:timers/promises'
import { DomainFailure } from '../../core/failures.ts'
import type { Recorded } from '../../core/ports.ts'

/** The embedded database: one file, every commit flushed to disk before it is acknowledged. */
export type Database = ReturnType<typeof openDatabase>

/** Who reads waits for nobody who writes, only for somebody who mends the file after a crash. */
const READ_WAIT = 'pragma busy_timeout = 100'
const NO_WAIT = 'pragma busy_timeout = 0'
const WRITE_AGAIN_MS = 5

export const openDatabase = (path: string, busyMsMax: number) => {
  // What is kept is for nobody else's eyes.
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // SQLite opens a file that it may not write without a word, and would never write to it, also once it might.
  if (existsSync(path)) accessSync(path, constants.W_OK)
  const file = new DatabaseSync(path)
  file.exec(`pragma busy_timeout = ${busyMsMax}; pragma synchronous = full`)
  switchToWal(file, busyMsMax)
  file.exec(READ_WAIT)
  let isOpen = true
  const statements = new Map<string, StatementSync>()
  const nameOf = rememberNames()

  const prepared = (sql: string): StatementSync => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = file.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  /** Where a commit failed SQLite may have rolled back by itself; then there is nothing to do. */
  const rollBack = () => {
    try {
      prepared('rollback').run()
    } catch {}
  }
  const transaction = <Answer>(work: () => Answer): Answer => {
    prepared(NO_WAIT).run()
    try {
      prepared('begin immediate').run()
      const answer = work()
      prepared('commit').run()
      return answer
    } catch (error) {
      rollBack()
      throw error
    } finally {
      prepared(READ_WAIT).run()
    }
  }
  const camel = (row: Record<string, unknown>): Record<string, unknown> => {
    const turned: Record<string, unknown> = {}
    for (const column in row) turned[nameOf(column)] = row[column]
    return turned
  }
  const camelEach = function* (rows: Iterable<Record<string, unknown>>) {
    for (const row of rows) yield camel(row)
  }

  return {
    /** The rows of one statement, with columns in camelCase. `sql` is a fixed text, kept prepared. */
    all: <Row>(sql: string, ...values: SQLInputValue[]): Row[] =>
      saying(
        () =>
          prepared(sql)
            .all(...values)
            .map(camel) as Row[],
      ),
    /** What is made of the rows of one statement, each read when it is taken. */
    from: <Row, Answer>(
      take: (rows: Iterable<Row>) => Answer,
      sql: string,
      ...values: SQLInputValue[]
    ): Answer => saying(() => take(camelEach(prepared(sql).iterate(...values)) as Iterable<Row>)),
    get: <Row>(sql: string, ...values: SQLInputValue[]): Row | undefined =>
      saying(() => {
        const row = prepared(sql).get(...values)
        return row === undefined ? undefined : (camel(row) as Row)
      }),
    /** Within `write`. */
    run: (sql: string, ...values: SQLInputValue[]): void =>
      saying(() => {
        prepared(sql).run(...values)
      }),
    exec: (sql: string): void => saying(() => file.exec(sql)),
    /**
     * One short transaction: all of `work` is on disk when it answers, or nothing. While another process writes it
     * tries again, and the event loop is free meanwhile.
     */
    write: async <Answer>(work: () => Answer): Promise<Answer> => {
      const giveUpAt = performance.now() + busyMsMax
      for (;;) {
        try {
          return transaction(work)
        } catch (error) {
          if (primaryCode(error) !== BUSY || performance.now() >= giveUpAt) throw said(error)
        }
        await pauseFor(WRITE_AGAIN_MS)
      }
    },
    close: (): void => {
      if (isOpen) file.close()
      isOpen = false
    },
  }
}

const SWITCH_EVERY_MS = 5
const pause = new Int32Array(new SharedArrayBuffer(4))

/** Two processes that open a new file at once both want it for themselves; SQLite refuses one without waiting. */
const switchToWal = (file: DatabaseSync, busyMsMax: number): void => {
  const giveUpAt = performance.now() + busyMsMax
  for (;;) {
    try {
      file.exec('pragma journal_mode = wal')
      return
    } catch (error) {
      if (primaryCode(error) !== BUSY || performance.now() >= giveUpAt) throw error
      Atomics.wait(pause, 0, 0, SWITCH_EVERY_MS)
    }
  }
}

/** `page_group_id` is `pageGroupId`: the one place where SQL's names become ours. */
const rememberNames = () => {
  const names = new Map<string, string>()
  return (column: string): string => {
    const known = names.get(column)
    if (known !== undefined) return known
    const name = column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    names.set(column, name)
    return name
  }
}

const saying = <Answer>(ask: () => Answer): Answer => {
  try {
    return ask()
  } catch (error) {
    throw said(error)
  }
}

/** What a failure of SQLite is to whoever asked: where the file cannot be used now, `unavailable`. */
const said = (error: unknown): unknown => {
  if (!AWAY.has(primaryCode(error))) return error
  const failure = new DomainFailure('unavailable', 'The database cannot answer now.', { retryAfterS: 1 })
  failure.cause = error
  return failure
}

const codeOf = (error: unknown): number => Number((error as { errcode?: unknown } | null)?.errcode ?? 0)
const primaryCode = (error: unknown): number => codeOf(error) & 0xff

/** 5 busy, 6 locked, 8 read only, 10 input or output, 11 damaged, 13 full, 14 cannot open, 26 not a database. */
const AWAY = new Set([5, 6, 8, 10, 11, 13, 14, 26])
const BUSY = 5
const CONSTRAINT_CHECK = 275
const CONSTRAINT_PRIMARYKEY = 1555
const CONSTRAINT_UNIQUE = 2067

/** Saves all of `work`, or nothing if another writer was faster: see the same on PostgreSQL. */
export const recordedUnlessOvertaken = async (
  database: Database,
  work: () => Recorded,
): Promise<Recorded> => {
  try {
    return await database.write(work)
  } catch (error) {
    const code = codeOf(error)
    if (code === CONSTRAINT_UNIQUE || code === CONSTRAINT_PRIMARYKEY) return 'overtaken'
    if (code === CONSTRAINT_CHECK && String(error).includes('prospects_email_hash_is_one')) return 'overtaken'
    throw error
  }
}
