import { type Check, failed, passed } from './check.ts'

/** From either kind of database. */
export const SELECT_FIRST_ERASURE = `
  select min(requested_at) as "requestedAt" from erasures where status = 'processing'`
const HOUR_MS = 60 * 60_000
/** Rewriting a large embedded file may wait for a day. */
const HOURS_MAX = 26

/** Whether erasures are completed in time. */
export const overdueErasures = (rows: readonly object[], nowMs: number): Check => {
  const [{ requestedAt = null } = {}] = rows as readonly { readonly requestedAt?: string | null }[]
  const hours = requestedAt === null ? 0 : Math.floor((nowMs - Date.parse(requestedAt)) / HOUR_MS)
  if (hours <= HOURS_MAX) return passed('erasures', 'no erasure is overdue')
  const remedy =
    'check that an eraser runs: serve has one, a program needs createEraser; its errors are in the log'
  return failed('erasures', `an erasure requested ${hours} hours ago is not completed`, remedy)
}
