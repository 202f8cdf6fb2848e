import { isoTime, MINUTE_MS } from '../engine/times.ts'
import { ERASURE_PASSES, type ErasureStep } from '../ports/erasures.ts'
import type { Needs } from '../ports/store.ts'

/** While a process rewrites the store for some erasures, no other process claims them. */
export const REWRITE_MS_MAX = 10 * 60_000

type Deps = Pick<Needs<'erasures'>, 'store' | 'clock'>
/** Saves a change of all erasures that wait for the rewrite. */
type SettleWaiting = (changes: Partial<ErasureStep>) => Promise<void>

/**
 * The step of an erasure between its last search and its completion. Only an embedded database has something to do: copies
 * of deleted rows remain in its file until that is rewritten, and a large file waits for a quiet hour. Other stores are done
 * at once.
 */
export const rewriteStore = async (
  { store: { erasures }, clock }: Deps,
  settleWaiting: SettleWaiting,
): Promise<void> => {
  const nowMs = clock()
  await settleWaiting({ claimableAt: isoTime(nowMs + REWRITE_MS_MAX) })
  const isDone = await erasures.purgeDeleted(isoTime(nowMs))
  // At the same full minutes, so that one rewrite serves all.
  const nextMinute = isoTime((Math.floor(nowMs / MINUTE_MS) + 1) * MINUTE_MS)
  await settleWaiting(isDone ? { pass: ERASURE_PASSES.rewritten } : { claimableAt: nextMinute })
}
