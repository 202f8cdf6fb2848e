import type postgres from 'postgres'
import type { Recorded } from '../../core/ports.ts'

/** The code of PostgreSQL or of the driver. */
const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')

/** Errors of the connection, and those by which PostgreSQL says: not now. */
export const isWaiting = (error: unknown): boolean => {
  const code = codeOf(error)
  return AWAY_CLASSES.has(code.slice(0, 2)) || CONNECTION_CODES.test(code)
}
/** By name: an embedder's instance may come from a driver of its own, whose class is another. */
const isFromServer = (error: unknown): error is postgres.PostgresError =>
  error instanceof Error && error.name === 'PostgresError'

/**
 * PostgreSQL itself refused the statement for what it says, so nothing of it was done. After anything else, a fault
 * of the connection above all, nobody knows.
 */
export const serverSaidNo = (error: unknown): boolean =>
  isFromServer(error) && !isWaiting(error) && !NOT_NOW_CODES.has(codeOf(error))
/** A lock not got, a standby, no such database, a wrong password, completion unknown, a fault inside. */
const NOT_NOW_CODES = new Set(['55P03', '25006', '3D000', '28P01', '40003', 'XX000'])
/** 08 connection, 53 out of something, 57 stopped by a limit or an operator, 58 a fault of the system. */
const AWAY_CLASSES = new Set(['08', '53', '57', '58'])
const CONNECTION_CODES = /^(CONNECT|CONNECTION_|ECONN|EPIPE|ENOENT|EAI_|ENOTFOUND|ETIMEDOUT|EHOST|ENET)/

/** The connection ended under the statement; not so where none was made, nor by an ordinary error of PostgreSQL. */
export const endsConnection = (error: unknown): boolean =>
  isFromServer(error)
    ? error.severity === 'FATAL' || error.severity === 'PANIC'
    : !NEVER_MADE.test(codeOf(error))
const NEVER_MADE = /^(ECONNREFUSED|ENOENT|EAI_|ENOTFOUND|EHOST|ENET)/

/**
 * Somebody else got there first: an email or an idempotency key was taken (23505), a blank email was filled (23514,
 * by that one constraint), or two writes waited for each other (40P01, 40001). Nothing was saved.
 */
const isOvertaken = (error: unknown): boolean => {
  const code = codeOf(error)
  if (code === '23514')
    return (error as { constraint_name?: string }).constraint_name === 'prospects_email_hash_is_one'
  return code === '23505' || code === '40P01' || code === '40001'
}

export const recordedUnlessOvertaken = (write: Promise<Recorded>): Promise<Recorded> =>
  write.catch((error) => {
    if (isOvertaken(error)) return 'overtaken'
    throw error
  })
