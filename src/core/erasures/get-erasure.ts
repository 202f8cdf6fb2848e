import type { Erasure } from '../../shapes/erasure.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import { ERASURE_PASSES, type StoredErasure } from '../ports/erasures.ts'
import type { Needs } from '../ports/store.ts'

export type ErasureRead = { readonly tenantId: string; readonly erasureId: string }

/** Reads one erasure. Refuses `erasure_not_found`. */
export const getErasure =
  ({ store }: Pick<Needs<'erasures'>, 'store'>) =>
  async (key: ErasureRead): Promise<Result<Erasure>> => {
    const erasure = await store.erasures.find(key)
    return { value: erasureOf(erasure ?? refuse('erasure_not_found', 'Erasure not found.')) }
  }

/** The fields of an erasure that callers see. */
export const erasureOf = (erasure: StoredErasure): Erasure => ({
  erasureId: erasure.erasureId,
  prospectId: erasure.prospectId,
  status: erasure.status,
  requestedAt: erasure.requestedAt,
  completedAt: erasure.completedAt,
  logsErased: erasure.logsErased,
  waitingFor: erasure.status === 'completed' ? null : WAITING_FOR[erasure.pass],
  blockedUntil: erasure.blockedUntil,
  formerlyOf: [...erasure.formerlyOf],
  stillLeadsTo: [...erasure.stillLeadsTo],
})

const WAITING_FOR = {
  [ERASURE_PASSES.first]: null,
  [ERASURE_PASSES.second]: 'second_pass',
  [ERASURE_PASSES.waitsForRewrite]: 'rewrite',
  [ERASURE_PASSES.rewritten]: null,
} as const
