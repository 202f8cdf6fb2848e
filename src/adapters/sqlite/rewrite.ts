import { Worker } from 'node:worker_threads'
import type { Database } from './open.ts'

const MINUTE_MS = 60_000
const MINUTES_BETWEEN = 10
/** Writers wait while a file is rewritten: a second for one of this size. */
const QUICK_BYTES_MAX = 268_435_456
/** Hours of the night, in local time, when larger files are rewritten; and for how long they may wait for that. */
const QUIET_HOURS = [2, 3]
const WAIT_MS_MAX = 24 * 60 * MINUTE_MS

/** In a thread of its own: requests are served meanwhile. Waits for a writer in another process. */
const REWRITE = `
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const file = new DatabaseSync(process.getBuiltinModule('node:worker_threads').workerData)
  file.exec('pragma busy_timeout = 5000; pragma synchronous = full; vacuum; pragma wal_checkpoint(truncate)')
  file.close()`
const QUIETLY = ['--disable-warning=ExperimentalWarning']

/**
 * Rewrites the file from its rows. What is deleted is overwritten, but not the copies that SQLite leaves within a page when
 * it moves rows that have grown. Answers false if now is not the time; see docs/erasure.md. Processes on one file share the
 * minute of the last attempt, in `user_version`.
 */
export const rewriteFile = async (database: Database, nowMs: number, sinceMs: number): Promise<boolean> => {
  if (database.place === ':memory:') return true
  const minute = Math.floor(nowMs / MINUTE_MS)
  const isOurs = await database.write(() => {
    const file = database.get<File>(FILE)
    if (file === null || !isTime(file, nowMs, sinceMs)) return false
    database.exec(`pragma user_version = ${minute}`)
    return true
  })
  if (isOurs)
    await new Promise<void>((resolve, reject) => {
      const worker = new Worker(REWRITE, { eval: true, workerData: database.place, execArgv: QUIETLY })
      worker.once('error', reject)
      worker.once('exit', () => resolve())
    })
  return isOurs
}

/** Its size, and the minute when it was last rewritten, since 1970. */
type File = { readonly bytes: number; readonly lastMinute: number }
const FILE = `
  select page_count * page_size as bytes, user_version as last_minute
  from pragma_page_count, pragma_page_size, pragma_user_version`

/** Now is the time, for erasures the first of which was requested then. A last time in the future is a wrong clock's. */
export const isTime = ({ bytes, lastMinute }: File, nowMs: number, sinceMs: number): boolean => {
  if (Math.abs(Math.floor(nowMs / MINUTE_MS) - lastMinute) < MINUTES_BETWEEN) return false
  const isQuiet = QUIET_HOURS.includes(new Date(nowMs).getHours())
  return bytes < QUICK_BYTES_MAX || isQuiet || nowMs - sinceMs >= WAIT_MS_MAX
}
