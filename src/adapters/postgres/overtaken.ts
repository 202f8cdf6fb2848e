import type { Recorded } from '../../core/ports/world.ts'
import { sqlStateOf } from './error-codes.ts'

/**
 * Whether another writer was faster: an identifier or an idempotency key was taken (23505), two writes waited for each
 * other (40P01, 40001), an identifier to block was taken (23514, by this constraint), a prospect was erased, merged or
 * filled (23502, of its last change, see `activities.record`), or a page group was archived (23502, of its count, see
 * `pages.record`). Nothing was saved. Only the message always names the column or constraint.
 */
const isOvertaken = (error: unknown): boolean => {
  const why = Object(error).cause ?? error
  const { message = '' } = Object(why)
  const code = sqlStateOf(why)
  if (code === '23514') return message.includes('identifiers_lead_or_are_blocked')
  if (code === '23502') return /pages_count|updated_at/.test(message)
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
