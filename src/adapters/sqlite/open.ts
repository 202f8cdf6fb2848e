import { resolve } from 'node:path'
import { setTimeout as pauseFor } from 'node:timers/promises'
import { obstacleOf } from '../../core/engine/failures.ts'
import { memoized } from '../../core/engine/keys.ts'
import { orNull } from '../../core/engine/outcome.ts'
import type { Recorded } from '../../core/ports/world.ts'
import { type Columns, camelCase, valuesOf } from '../stores/columns.ts'
import { AFTER_ALL_IDS, takeSlice } from '../stores/take-slice.ts'
import { isBusy, isOvertaken, OVERTAKEN, toDomainFailure, withMappedErrors } from './error-codes.ts'
import { appliedMigrations } from './last-migration.ts'
import { placeTemporaryFiles, prepareFile, refuseForeign, switchToWal, watchPlace } from './place.ts'

/** The embedded database: one file, every commit flushed to disk before it is acknowledged. */
export type Database = ReturnType<typeof openDatabase>

/** A reader never waits for a writer, only for a process that recovers the file after a crash. */
const READ_WAIT = 'pragma busy_timeout = 100'
const NO_WAIT = 'pragma busy_timeout = 0'
const AGAIN_MS = 5
/** 16 MB: a page that many transactions change is copied into the file only once. A long reader makes it longer for a while. */
const LONG_JOURNAL = 'pragma wal_autocheckpoint = 4000; pragma journal_size_limit = 33554432'

/** Deleted data is overwritten, so that nothing of an erased person stays in the file. */
const ERASE_DELETED = 'pragma secure_delete = on'
const LEAVE_DELETED = 'pragma secure_delete = fast'

export const openDatabase = (path: string, busyMsMax: number) => {
  const place = path === ':memory:' ? path : resolve(path)
  if (place !== ':memory:') prepareFile(place)
  // An import would fail on an older Node before `needs-node.ts` is read.
  const file = new (process.getBuiltinModule('node:sqlite').DatabaseSync)(place)
  file.exec(
    `pragma busy_timeout = ${busyMsMax}; pragma synchronous = full; ${LONG_JOURNAL}; ${ERASE_DELETED}`,
  )
  if (place !== ':memory:') placeTemporaryFiles(file, place)
  refuseForeign(file, place)
  switchToWal(file, busyMsMax)
  file.exec(READ_WAIT)
  const watched = watchPlace(file, place)
  /** Statements with values bound by position: SQLite refuses a row that has more members than the text names. */
  const statements = memoized((sql: string) => {
    const members = Array.from(sql.match(NAMED_VALUES) ?? [], (place) => place.slice(1))
    const boundTo = (values: Values) =>
      valuesOf(values, members).map((value) => (typeof value === 'boolean' ? Number(value) : value))
    return { statement: file.prepare(sql.replace(NAMED_VALUES, '?')), boundTo }
  })
  const prepared = (sql: string) => {
    watched.refuseMoved()
    return statements(sql)
  }
  let rowsChanged = 0
  const run = (sql: string, values: Values = {}): number => {
    const { statement, boundTo } = prepared(sql)
    const changes = Number(statement.run(...boundTo(values)).changes)
    rowsChanged += changes
    return changes
  }
  const discard = (sql: string, values: Values): void => {
    file.exec(LEAVE_DELETED)
    try {
      run(sql, values)
    } finally {
      file.exec(ERASE_DELETED)
    }
  }
  const transaction = <Answer>(work: () => Answer): Answer => {
    run(NO_WAIT)
    try {
      run('begin immediate')
      const answer = work()
      run('commit')
      return answer
    } catch (error) {
      // After a failed commit SQLite may already have rolled back.
      orNull(() => run('rollback'))
      throw error
    } finally {
      run(READ_WAIT)
    }
  }
  /**
   * One short transaction: all of `work` is on disk when this resolves, or nothing. It retries while another process
   * writes, without blocking the event loop. If the file is moved, the moved file gets all acknowledged writes, unless the
   * process is killed before the move is noticed: then the last writes are in the journal at the old place.
   */
  let wasRefused = false
  const write = async <Answer>(work: () => Answer): Promise<Answer> => {
    const giveUpAt = performance.now() + busyMsMax
    for (;;) {
      try {
        const answer = transaction(work)
        wasRefused = false
        return answer
      } catch (error) {
        const failure = toDomainFailure(error)
        wasRefused ||= obstacleOf(failure) === 'takes_no_writes'
        if (!isBusy(error) || performance.now() >= giveUpAt) throw failure
      }
      await pauseFor(AGAIN_MS)
    }
  }
  /** Within `write`. A work that was overtaken after it changed rows ends the transaction. */
  const recordUnlessDirty = (work: () => Recorded): Recorded => {
    const before = rowsChanged
    const recorded = overtakenIn(work)
    if (recorded === 'overtaken' && rowsChanged > before) throw DIRTY
    return recorded
  }
  /** Within `write`, undoes a work that was overtaken. A savepoint copies every page that is changed after it. */
  const recordApart = (work: () => Recorded): Recorded => {
    run('savepoint work')
    const recorded = overtakenIn(work)
    if (recorded === 'overtaken') run('rollback to work')
    run('release work')
    return recorded
  }
  const get = <Row>(sql: string, values: Values = {}): Row | null =>
    withMappedErrors(() => {
      const { statement, boundTo } = prepared(sql)
      const found = statement.get(...boundTo(values))
      return found ? camel<Row>(found) : null
    })
  /** Returns the result of `take`, which reads the rows one by one. */
  const from = <Row, Answer>(take: (rows: Iterable<Row>) => Answer, sql: string, values: Values = {}) =>
    withMappedErrors(() => {
      const { statement, boundTo } = prepared(sql)
      return take(camelEach<Row>(statement.iterate(...boundTo(values))))
    })

  // `sql` is a fixed text that stays prepared: `:pageId` is the member `pageId` of the row. Rows have camelCase members.
  return {
    place,
    get,
    has: (sql: string, values?: Values): boolean => get(sql, values) !== null,
    /** The wanted rows that exist. */
    getEach: <Row>(sql: string, wants: readonly Values[]): Row[] =>
      wants.flatMap((want) => get<Row>(sql, want) ?? []),
    /** Runs several reads as one, with no write of another process in between. */
    read: <Found>(work: () => Found): Found =>
      withMappedErrors(() => {
        run('begin')
        try {
          return work()
        } finally {
          run('commit')
        }
      }),
    all: <Row>(sql: string, values?: Values): Row[] => from((rows: Iterable<Row>) => [...rows], sql, values),
    slice: <Row extends object>(sql: string, want: Values & { readonly limit: number }): Row[] =>
      from((rows: Iterable<Row>) => takeSlice(rows, want.limit), sql, want),
    from,
    /** Within `write`. Returns the number of rows that changed. */
    run,
    /** Deletes without overwriting, which can take seconds. Not for data that an erasure covers. */
    discard,
    exec: (sql: string): void => file.exec(sql),
    write,
    /** Saves all of `work` and calls `saved`; or nothing if it returns `overtaken`, or another writer has taken a key. */
    record: async <Answer>(work: () => Answer, saved = () => {}): Promise<Answer | 'overtaken'> => {
      const workWhole = () => {
        const answer = work()
        if (answer === 'overtaken') throw OVERTAKEN
        return answer
      }
      const answer = await write(workWhole).catch((error): 'overtaken' => {
        if (isOvertaken(error)) return 'overtaken'
        throw error
      })
      if (answer !== 'overtaken' && answer !== null) saved()
      return answer
    },
    /**
     * Saves each of these changes whole or not at all, in one transaction, by the function that `saver` makes for it. A
     * change that is overtaken, or for which another writer has taken a key, leaves nothing.
     */
    recordEach: <Change>(
      changes: readonly Change[],
      saver: () => (change: Change) => Recorded,
    ): Promise<Recorded[]> => {
      const saveAll = (saveOne: typeof recordApart) => {
        const save = saver()
        return changes.map((change) => saveOne(() => save(change)))
      }
      return write(() => saveAll(recordUnlessDirty)).catch((error) => {
        if (error !== DIRTY) throw error
        return write(() => saveAll(recordApart))
      })
    },
    appliedMigrations: () => withMappedErrors(() => appliedMigrations(file)),
    /** Refuses `unavailable` if the path no longer names the open file. */
    refuseMoved: (): void => {
      watched.check()
      watched.refuseMoved()
    },
    /** Refuses `unavailable` after a write was refused for the disk, until the file can be written to. */
    refuseNoWrites: async (): Promise<void> => {
      if (wasRefused)
        await write(() =>
          file.exec(`pragma user_version = ${file.prepare('pragma user_version').get()?.['user_version']}`),
        )
    },
    close: (): void => {
      orNull(watched.close)
    },
  }
}

/** Thrown within a transaction in which a work left changes that it should not have made. */
const DIRTY = new Error('A work was overtaken after it had changed rows.')
const overtakenIn = (work: () => Recorded): Recorded => {
  try {
    return work()
  } catch (error) {
    if (isOvertaken(error)) return 'overtaken'
    throw error
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
