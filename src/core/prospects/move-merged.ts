import { claimFairly } from '../engine/claim-fairly.ts'
import { throwFirst } from '../engine/outcome.ts'
import { isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { ClaimedMerge, MergeStep } from '../ports/merges.ts'
import type { Needs } from '../ports/store.ts'
import type { MayNoteConflicts } from './note-conflicts.ts'

/** Merges in progress at a time. */
const CLAIM_MAX = 20
const LEASE_MS = 20_000
/** Between two looks at whether earlier writes have ended. */
const SETTLE_REST_MS = 500
/** A list of logs to move: some milliseconds. */
const MOVE_MAX = 500

type Deps = Needs<'merges' | 'moments'> & MayNoteConflicts

/**
 * Completes merges: the logs of the merged prospect move to the survivor, list by list, and the conflicts that name it are
 * deleted. A write that began before the merge may still add logs, so a second pass follows once all such writes have ended;
 * then the merge is completed, with its event.
 *
 * Each call claims some merges, moves one list of each, and returns whether there may be more. All progress is in the
 * store, so any process may take the next step, and a kill at any moment loses and doubles nothing.
 */
export const moveMerged = ({ store: { merges, moments, prospectConflicts }, clock, newId }: Deps) => {
  const { claim } = claimFairly(merges, { clock, leaseMs: LEASE_MS, restMsMax: SETTLE_REST_MS })

  const advance = async (merge: ClaimedMerge): Promise<void> => {
    const { tenantId, apiKeyId, prospectId, intoId: intoProspectId, pass } = merge
    const now = isoTime(clock())
    const step: MergeStep = { ...merge, claimableAt: now, completedAt: null }
    const [isSettled = true] = await moments.arePast(merge.settlesAfter === null ? [] : [merge.settlesAfter])
    if (!isSettled) {
      await merges.settle({ ...step, claimableAt: isoTime(clock() + SETTLE_REST_MS) })
      return
    }
    const moved = await merges.moveLogs(merge, MOVE_MAX)
    const ended = (await prospectConflicts?.removeOf({ tenantId, prospectId }, MOVE_MAX)) ?? 0
    if (moved + ended > 0) await merges.settle({ ...step, settlesAfter: null })
    else if (pass === 1)
      await merges.settle({ ...step, pass: 2, settlesAfter: await moments.now(merge.tenantId) })
    else {
      const ids = { prospectId, intoProspectId }
      const event = newEvent(newId, {
        type: 'prospect.merged',
        sender: { tenantId, apiKeyId },
        ids,
        createdAt: now,
      })
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
    throwFirst(failures)
    return claimed.length > 0
  }
}
