import type { Recorded } from '../../core/ports/world.ts'
import { sqlStateOf } from './error-codes.ts'

/**
 * Whether another writer was faster: an identifier or an idempotency key was taken (23505), two writes waited for each
 * other (40P01, 40001), or an identifier to block was taken (23514, by this constraint). Nothing was saved. Only the
 * message always names the constraint.
 */
const isOvertaken = (error: unknown): boolean => {
  const why = Object(error).cause ?? error
  const { message = '' } = Object(why)
  const code = sqlStateOf(why)
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
 * A statement for many changes that another writer overtook is tried once more: mostly it finds now what the other one
 * has added. If not, it is halved. For one change, having been overtaken is its result.
 */
export const overtakenAlone =
  <Change>(recordAll: (changes: readonly Change[]) => Promise<readonly Recorded[]>) =>
  (changes: readonly Change[]): Promise<readonly Recorded[]> => {
    const recorded = recordAll(changes)
    if (changes.length === 1) return recorded.catch(ifOvertaken<readonly Recorded[]>(['overtaken']))
    const repeated = recorded.catch((error) => {
      if (isOvertaken(error)) return recordAll(changes)
      throw error
    })
    return repeated.catch((error) => {
      // A deadlock is `unavailable`, after which a list is not halved: nothing was saved, so it may be.
      if (isOvertaken(error)) throw new Error('A list was overtaken.', { cause: error })
      throw error
    })
  }
