import { resolve } from 'node:path'
import { orNull } from '../../core/engine/or-null.ts'
import { takeSlice } from '../stores/take-slice.ts'
import { withMappedErrors } from './error-codes.ts'
import { appliedMigrations } from './last-migration.ts'
import { placeTemporaryFiles, prepareFile, refuseForeign, switchToWal } from './place.ts'
import { createStatements, type Values } from './statements.ts'
import { createTransactions, READ_WAIT } from './transactions.ts'
import { watchPlace } from './watch-place.ts'

/** The embedded database: one file, every commit flushed to disk before it is acknowledged. */
export type Database = ReturnType<typeof openDatabase>

/**
 * 16 MB: a page that many transactions change is copied into the file only once. A long reader makes it longer for a while.
 */
const LONG_JOURNAL = 'pragma wal_autocheckpoint = 4000; pragma journal_size_limit = 33554432'

/** Deleted data is overwritten, so that nothing of an erased person stays in the file. */
const ERASE_DELETED = 'pragma secure_delete = on'
const LEAVE_DELETED = 'pragma secure_delete = fast'

export const openDatabase = (path: string, busyMsMax: number) => {
  const place = path === ':memory:' ? path : resolve(path)
  const file = openFile(place, busyMsMax)
  const watched = watchPlace(file, place)
  const statements = createStatements(file, watched.refuseMoved)
  const { run, get, iterate } = statements
  const { write, read, record, recordEach, wasRefused, forgetRefusal } = createTransactions(
    statements,
    busyMsMax,
  )

  return {
    place,
    get,
    has: (sql: string, values?: Values): boolean => get(sql, values) !== null,
    /** The wanted rows that exist. */
    getEach: <Row>(sql: string, lookups: readonly Values[]): Row[] =>
      lookups.flatMap((lookup) => get<Row>(sql, lookup) ?? []),
    all: <Row>(sql: string, values?: Values): Row[] =>
      iterate((rows: Iterable<Row>) => [...rows], sql, values),
    slice: <Row extends object>(sql: string, lookup: Values & { readonly limit: number }): Row[] =>
      iterate((rows: Iterable<Row>) => takeSlice(rows, lookup.limit), sql, lookup),
    iterate,
    read,

    write,
    record,
    recordEach,
    /** Within `write`. Returns the number of rows that changed. */
    run,
    /** Within `write`. Deletes without overwriting, which can take seconds. Not for data that an erasure covers. */
    deleteFast: (sql: string, values: Values): void => {
      file.exec(LEAVE_DELETED)
      try {
        run(sql, values)
      } finally {
        file.exec(ERASE_DELETED)
      }
    },
    exec: (sql: string): void => file.exec(sql),

    appliedMigrations: () => withMappedErrors(() => appliedMigrations(file)),
    /** Refuses `unavailable` if the path no longer names the open file. */
    refuseMoved: (): void => {
      watched.check()
      watched.refuseMoved()
    },
    /** Refuses `unavailable` after a write was refused for the disk, until a large write would pass. */
    refuseNoWrites: async (): Promise<void> => {
      if (!wasRefused()) return
      await write(() => file.exec(TAKE_ROOM))
      forgetRefusal()
    },
    close: (): void => {
      orNull(watched.close)
    },
  }
}

/** As much as the largest write takes, a batch. */
export const ROOM_BYTES = 8 * 2 ** 20
/** Writes more than the cache holds, so that it needs room on the disk, and keeps nothing. */
const TAKE_ROOM = `
  savepoint room; create table room (bytes blob); insert into room values (zeroblob(${ROOM_BYTES}));
  rollback to room; release room`

const openFile = (place: string, busyMsMax: number) => {
  const isInMemory = place === ':memory:'
  if (!isInMemory) prepareFile(place)
  // An import would fail on an older Node before `needs-node.ts` is read.
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const file = new DatabaseSync(place)
  file.exec(
    `pragma busy_timeout = ${busyMsMax}; pragma synchronous = full; ${LONG_JOURNAL}; ${ERASE_DELETED}`,
  )
  if (!isInMemory) placeTemporaryFiles(file, place)
  refuseForeign(file, place)
  switchToWal(file, busyMsMax)
  file.exec(READ_WAIT)
  return file
}
