import type { Recorded } from '../../core/ports/world.ts'
import { NOT_AS_ASSUMED, sqlStateOf } from './error-codes.ts'

/**
 * Whether another writer was faster: an email or an idempotency key was taken (23505), two writes waited for each other
 * (40P01, 40001), a blank email was filled or a prospect erased (23514, by these two constraints), or a page group was
 * archived (23502, of that one column, see `pages.record`), or an assumption did not hold. Nothing was
 * saved. Only the message always names the column or constraint.
 */
const isOvertaken = (error: unknown): boolean => {
  const why = Object(error).cause ?? error
  const { message = '' } = Object(why)
  const code = sqlStateOf(why)
  if (code === '23514') return /prospects_(email_hash_is_one|erased_is_blank)/.test(message)
  if (code === '23502') return message.includes('pages_count')
  return ['23505', '40P01', '40001'].includes(code) || NOT_AS_ASSUMED.has(code)
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
