import type { Erasure } from '../../shapes/erasure.ts'
import type { SliceQuery } from '../../shapes/slice.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import { sliceOf } from '../engine/slices.ts'
import { isoTime } from '../engine/times.ts'
import type { StoredErasure } from '../ports/erasures.ts'
import type { Needs } from '../ports/store.ts'

/** Expired blocks deleted at once. */
const BLOCKS_MAX = 500

export type ErasureListing = SliceQuery & { readonly tenantId: string }

export type ErasureRead = { readonly tenantId: string; readonly erasureId: string }

/** Lists a tenant's erasures, newest first. Refuses `invalid_cursor`. */
export const listErasures = ({ store }: Pick<Needs<'erasures'>, 'store'>) =>
  sliceOf({
    nameOf: (_: ErasureListing) => 'erasures',
    find: (want) => store.erasures.list(want),
    positionOf: ({ erasureId }) => erasureId,
    itemOf: erasureOf,
  })

/** Reads one erasure. Refuses `erasure_not_found`. */
export const getErasure =
  ({ store }: Pick<Needs<'erasures'>, 'store'>) =>
  async (want: ErasureRead): Promise<Result<Erasure>> => {
    const erasure = await store.erasures.find(want)
    return { value: erasureOf(erasure ?? refuse('erasure_not_found', 'Erasure not found.')) }
  }

/**
 * Lifts the block of an erased email, for example of one that was mistyped: the person may return. While the erasure is
 * processing the block is needed: it ends soon after. Refuses `erasure_not_found`.
 */
export const unblockErasure =
  ({ store, clock }: Pick<Needs<'erasures'>, 'store' | 'clock'>) =>
  async (want: ErasureRead): Promise<Result<Erasure>> => {
    const { tenantId } = want
    const now = isoTime(clock())
    await store.erasures.unblock(want, now)
    await store.erasures.expire({ tenantId, now, beforeLogId: null, max: BLOCKS_MAX })
    return getErasure({ store })(want)
  }

export const erasureOf = (erasure: StoredErasure): Erasure => ({
  erasureId: erasure.erasureId,
  prospectId: erasure.prospectId,
  status: erasure.status,
  requestedAt: erasure.requestedAt,
  completedAt: erasure.completedAt,
  logsErased: erasure.logsErased,
  waitingFor: erasure.status === 'completed' ? null : WAITING_FOR[erasure.pass],
  blockedUntil: erasure.blockedUntil,
})

const WAITING_FOR = { 1: null, 2: 'second_pass', 3: 'rewrite', 4: null } as const
