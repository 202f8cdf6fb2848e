import { claimInTurns } from '../engine/claim-in-turns.ts'
import { isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { ClaimedMerge, MergeStep } from '../ports/merges.ts'
import type { Needs } from '../ports/store.ts'

/** Merges in progress at a time. */
const CLAIM_MAX = 20
const LEASE_MS = 20_000
/** A list of logs to move: some milliseconds. */
const MOVE_MAX = 500

type Deps = Needs<'merges'> & {
  /** Longer than any process can go on logging for a prospect after its merge. */
  readonly settleMs: number
}

/**
 * Completes merges: the logs of the merged prospect move to the survivor, list by list. A process that still remembers
 * the prospect, or is just writing, may add logs until then, so a second pass follows once no process can; then the
 * merge is completed, with its event.
 *
 * Each call claims some merges, moves one list of each, and returns whether there may be more. All progress is in the
 * store, so any process may take the next step, and a kill at any moment loses and doubles nothing.
 */
export const moveMerged = ({ store: { merges }, clock, newId, settleMs }: Deps) => {
  const claim = claimInTurns(merges, { clock, leaseMs: LEASE_MS, restMsMax: settleMs })

  const advance = async (merge: ClaimedMerge): Promise<void> => {
    const { tenantId, apiKeyId, prospectId, intoId: intoProspectId, pass } = merge
    const found = await merges.moveLogs(merge, MOVE_MAX)
    const nowMs = clock()
    const now = isoTime(nowMs)
    const step: MergeStep = { ...merge, claimableAt: now, completedAt: null }
    if (found > 0) await merges.settle(step)
    // Counted from now, not from the request: the clock of the process that took it may differ.
    else if (pass === 1) await merges.settle({ ...step, pass: 2, claimableAt: isoTime(nowMs + settleMs) })
    else {
      const ids = { prospectId, intoProspectId }
      const event = newEvent(newId, 'prospect.merged', { tenantId, apiKeyId }, ids, now)
      await merges.settle({ ...step, completedAt: now }, [event])
    }
  }

  return async (stop: AbortSignal): Promise<boolean> => {
    if (stop.aborted) return false
    const claimed = await claim(CLAIM_MAX)
    const failures: unknown[] = []
    // One that fails holds up no other, and is claimed again after its lease.
    for (const merge of claimed)
      if (!stop.aborted) await advance(merge).catch((failure) => failures.push(failure))
    for (const failure of failures) throw failure
    return claimed.length > 0
  }
}
