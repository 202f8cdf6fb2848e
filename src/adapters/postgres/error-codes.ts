import type postgres from 'postgres'
import { DomainFailure, unavailable } from '../../core/engine/failures.ts'
import { type NoWrites, takesNoWrites } from '../../core/engine/obstacles.ts'
import { unmigrated } from '../stores/migrations.ts'

/** The code of PostgreSQL or the driver. When Citus copies rows to a worker, its code for a taken key is wrong. */
export const sqlStateOf = (error: unknown): string => {
  const { code = '', message = '' } = (error ?? {}) as { code?: unknown; message?: string }
  return code === 'XX000' && message.startsWith('duplicate key value violates') ? '23505' : String(code)
}

/** Whether this is an error of the connection, or PostgreSQL cannot answer now. */
export const isTransient = (error: unknown): boolean => TRANSIENT.test(sqlStateOf(error))
/** 08 connection, 53 out of resources, 57 stopped by a limit or an operator, 58 system error; then the driver's. */
const TRANSIENT = /^(08|53|57|58|CONNECT|ECONN|EPIPE|ENOENT|EAI_|ENOTFOUND|ETIMEDOUT|EHOST|ENET)/

/** Compares the name: an embedder's instance may come from another copy of the driver, with another class. */
const isFromServer = (error: unknown): error is postgres.PostgresError =>
  error instanceof Error && error.name === 'PostgresError'

/**
 * Throws the error itself if PostgreSQL rejected the statement for its content, so that it changed nothing. After any
 * other error, such as a lost connection, that is unknown.
 */
export const unavailableUnlessRejected = (error: unknown): never => {
  if (sqlStateOf(error) === '42P01') throw unmigrated(error)
  const reason = NO_WRITES[sqlStateOf(error)]
  if (reason) {
    refusedWrites.count++
    throw takesNoWrites(reason, error)
  }
  // The role lacks a privilege, or row security refuses the row: readiness finds out which.
  if (sqlStateOf(error) === '42501') refusedWrites.count++
  const isRejected = isFromServer(error) && !isTransient(error) && !RETRYABLE_CODES.has(sqlStateOf(error))
  if (isRejected || error instanceof DomainFailure) throw error
  throw unavailable('The database cannot answer now.', error)
}
/**
 * Lock not available, a deadlock, a conflict of writers, no such database, a wrong password, completion unknown,
 * an internal error.
 */
const RETRYABLE_CODES = new Set(['55P03', '40P01', '40001', '3D000', '28P01', '40003', 'XX000'])

/** Writes of this process that were refused for a reason that other writes share. */
export const refusedWrites = { count: 0 }
const NO_WRITES: Readonly<Record<string, NoWrites>> = { '25006': 'read_only', '53100': 'disk_full' }

/** The connection is unusable after this error. A server that has become read-only counts too. */
export const isConnectionFatal = (error: unknown): boolean =>
  isFromServer(error)
    ? error.code === '25006' || error.severity === 'FATAL' || error.severity === 'PANIC'
    : !NEVER_MADE.test(sqlStateOf(error))
const NEVER_MADE = /^(ECONNREFUSED|ENOENT|EAI_|ENOTFOUND|EHOST|ENET)/
