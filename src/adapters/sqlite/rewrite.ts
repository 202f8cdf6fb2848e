import { Worker } from 'node:worker_threads'
import { MINUTE_MS } from '../../core/engine/times.ts'
import { ERASURE_PASSES } from '../../core/ports/erasures.ts'
import { toDomainFailure } from './error-codes.ts'
import type { Database } from './open.ts'
import { placeTemporaryFiles } from './place.ts'

const MINUTES_BETWEEN = 10
/** Largest file that is rewritten at any time. Writers wait for a rewrite: a second for a file of this size. */
const QUICK_BYTES_MAX = 268_435_456
/** Hours of the night, in local time, when larger files are rewritten, and the longest wait for that. */
const QUIET_HOURS = [2, 3]
const WAIT_MS_MAX = 24 * 60 * MINUTE_MS

/**
 * Runs in a separate thread. To empty the journal, it must not wait while it holds the lock that writers need. It is a text
 * because a program that is bundled into one file has no file for a worker to load.
 */
const REWRITE = `
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const file = new DatabaseSync(process.getBuiltinModule('node:worker_threads').workerData)
  file.exec('pragma busy_timeout = 5000; pragma synchronous = full; vacuum; pragma busy_timeout = 0')
  const emptyJournal = file.prepare('pragma wal_checkpoint(truncate)')
  for (let tries = 1; emptyJournal.get().busy; tries++) {
    if (tries === 20) throw new Error('Another program reads the database file all the time: erasures wait.')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
  }
  file.close()`
const QUIETLY = ['--disable-warning=ExperimentalWarning']

/**
 * Rewrites the file from its rows. Deleted data is already overwritten, but not the copies that SQLite leaves within a
 * page when it moves rows that have grown. Returns false if now is not the time; see docs/erasure.md. Processes on one
 * file share the minute of the last attempt, in `user_version`.
 */
export const rewriteFile = async (database: Database, nowMs: number): Promise<boolean> => {
  if (database.place === ':memory:') return database.write(() => true)
  const minute = Math.floor(nowMs / MINUTE_MS)
  const isOurs = await database.write(() => {
    const file = database.get<FileState>(FILE_STATE)
    if (file === null || !isTimeToRewrite(file, nowMs)) return false
    database.exec(`pragma user_version = ${minute}`)
    database.run(TAKE, { minute: `${minute}` })
    return true
  })
  if (!isOurs) return false
  // Another database of this process may have set a different folder.
  placeTemporaryFiles(database, database.place)
  await new Promise<void>((resolve, reject) => {
    const worker = new Worker(REWRITE, { eval: true, workerData: database.place, execArgv: QUIETLY })
    worker.once('error', (error) => reject(toDomainFailure(error)))
    worker.once('exit', () => resolve())
  })
  await database.write(() => database.run(RELEASE, { minute: `${minute}` }))
  return true
}

const WAITS_FOR_REWRITE = `status = 'processing' and pass = ${ERASURE_PASSES.waitsForRewrite}`
const SEARCHES_LOGS = `status = 'processing' and pass < ${ERASURE_PASSES.waitsForRewrite}`

/** A rewrite serves the erasures that wait when it begins. They carry its minute until it is done. */
const TAKE = `update erasures set position = :minute where ${WAITS_FOR_REWRITE}`
const RELEASE = `
  update erasures set pass = ${ERASURE_PASSES.rewritten} where ${WAITS_FOR_REWRITE} and position = :minute`

type FileState = {
  readonly bytes: number
  /** Minutes since 1970 at the last attempt. */
  readonly lastAttemptMinute: number
  /** When the first of the erasures, and of the deletions of tenants, that wait for a rewrite was requested. */
  readonly waitingSince: string
  /** When the last of the erasures that still search logs was requested. Null if there is none. */
  readonly lastSearchingAt: string | null
}
const FILE_STATE = `
  select page_count * page_size as bytes, user_version as last_attempt_minute, (
    select min(at) from (
      select requested_at as at from erasures where ${WAITS_FOR_REWRITE}
      union all select deleted_at from tenants where deleted_at is not null
    )
  ) as waiting_since, (select max(requested_at) from erasures where ${SEARCHES_LOGS}) as last_searching_at
  from pragma_page_count, pragma_page_size, pragma_user_version`

/** Whether the file may be rewritten now. A last attempt in the future had a wrong clock. */
export const isTimeToRewrite = (file: FileState, nowMs: number): boolean => {
  const minutesSinceAttempt = Math.abs(Math.floor(nowMs / MINUTE_MS) - file.lastAttemptMinute)
  if (minutesSinceAttempt < MINUTES_BETWEEN) return false
  const waitedMs = nowMs - Date.parse(file.waitingSince)
  if (isSharedSoon(file) && waitedMs < MINUTES_BETWEEN * MINUTE_MS) return false
  const isQuiet = QUIET_HOURS.includes(new Date(nowMs).getHours())
  return file.bytes < QUICK_BYTES_MAX || isQuiet || waitedMs >= WAIT_MS_MAX
}

/** Erasures that were requested within a minute share a rewrite, instead of waiting for the next one. */
const isSharedSoon = ({ waitingSince, lastSearchingAt }: FileState): boolean =>
  lastSearchingAt !== null && Math.abs(Date.parse(lastSearchingAt) - Date.parse(waitingSince)) < MINUTE_MS
