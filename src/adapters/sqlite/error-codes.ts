import { unavailable } from '../../core/engine/failures.ts'
import { type NoWrites, takesNoWrites } from '../../core/engine/obstacles.ts'
import { unmigrated } from '../stores/migrations.ts'

export const withMappedErrors = <Answer>(ask: () => Answer): Answer => {
  try {
    return ask()
  } catch (error) {
    throw toDomainFailure(error)
  }
}

/** Returns `unavailable` if SQLite cannot use the file now, else the error. */
export const toDomainFailure = (error: unknown): unknown => {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ERR_INVALID_STATE') return unavailable('The store is closed.')
  if (message.startsWith('no such table')) return unmigrated(error)
  const reason = NO_WRITES[primaryCode(error)]
  if (reason) return takesNoWrites(reason, error)
  return AWAY.has(primaryCode(error)) ? unavailable('The database cannot answer now.', error) : error
}
/** 5 busy, 6 locked, 10 input or output, 11 damaged, 14 cannot open, 26 not a database. */
const AWAY = new Set([5, 6, 10, 11, 14, 26])
const NO_WRITES: Readonly<Record<number, NoWrites>> = { 8: 'read_only', 13: 'disk_full' }

const resultCodeOf = (error: unknown): number => Number((error as { errcode?: unknown } | null)?.errcode ?? 0)
const primaryCode = (error: unknown): number => resultCodeOf(error) & 0xff
/** 11 damaged, 26 not a database. */
export const isDamaged = (error: unknown): boolean => [11, 26].includes(primaryCode(error))
/** Such as a limit of file sizes or a quota. */
export const isInputOrOutput = (error: unknown): boolean => primaryCode(error) === 10
export const isBusy = (error: unknown): boolean => primaryCode(error) === 5

/** Thrown within a transaction so that nothing of it is saved. */
export const OVERTAKEN = new Error('Another writer was faster.')
/** Whether a transaction was overtaken, or another writer has taken a key. */
export const isOvertaken = (error: unknown): boolean => error === OVERTAKEN || TAKEN.has(resultCodeOf(error))
/** 1555 primary key, 2067 unique. */
const TAKEN = new Set([1555, 2067])
