import type { Erasure } from '../../shapes/erasure.ts'
import type { Result } from '../engine/result.ts'
import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import { type ErasureRead, getErasure } from './get-erasure.ts'

/** Expired blocks deleted at once. */
const BLOCKS_MAX = 500

/**
 * Lifts the block of an erased email, for example of one that was mistyped: the person may return. While the erasure is
 * processing the block is still needed, and ends soon after. Refuses `erasure_not_found`.
 */
export const unblockErasure =
  ({ store, clock }: Pick<Needs<'erasures'>, 'store' | 'clock'>) =>
  async (key: ErasureRead): Promise<Result<Erasure>> => {
    const { tenantId } = key
    const now = isoTime(clock())
    await store.erasures.unblock(key, now)
    await store.erasures.expire({ tenantId, now, beforeLogId: null, max: BLOCKS_MAX })
    return getErasure({ store })(key)
  }
