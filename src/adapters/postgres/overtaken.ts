import type { Recorded } from '../../core/ports/world.ts'
import { sqlStateOf } from './error-codes.ts'

/**
 * Whether another writer was faster: an identifier or an idempotency key was taken (23505), two writes waited for each
 * other (40P01, 40001), or an identifier to block was taken (23514, by this constraint). Nothing was saved. Only the
 * message always names the constraint.
 */
const isOvertaken = (error: unknown): boolean => {
  const cause = Object(error).cause ?? error
  const { message = '' } = Object(cause)
  const code = sqlStateOf(cause)
  if (code === '23514') return message.includes('identifiers_lead_or_are_blocked')
  return ['23505', '40P01', '40001'].includes(code)
}

/** Returns this answer if the write was overtaken by another. */
export const ifOvertaken =
  <Answer>(answer: Answer) =>
  (error: unknown): Answer => {
    if (isOvertaken(error)) return answer
    throw error
  }

export const unlessOvertaken = (written: Promise<unknown>): Promise<Recorded> =>
  written.then(() => 'recorded', ifOvertaken<Recorded>('overtaken'))

/**
 * A statement for many changes that another writer overtook is retried once: mostly it now finds what the other one has
 * added. If it is overtaken again, its list is halved. A single change that is overtaken is not retried.
 */
export const retriedThenHalved = <Change>(
  recordAll: (changes: readonly Change[]) => Promise<readonly Recorded[]>,
) => {
  const retry = async (changes: readonly Change[]): Promise<readonly Recorded[]> => {
    try {
      return await recordAll(changes)
    } catch (error) {
      // A deadlock is `unavailable`, after which a list is not halved. Nothing was saved, so this list may be halved.
      if (isOvertaken(error)) throw new Error('A list was overtaken.', { cause: error })
      throw error
    }
  }
  // Not `async`: that costs every write one more promise.
  return (changes: readonly Change[]): Promise<readonly Recorded[]> =>
    recordAll(changes).catch((error) => {
      if (!isOvertaken(error)) throw error
      return changes.length === 1 ? ['overtaken'] : retry(changes)
    })
}
