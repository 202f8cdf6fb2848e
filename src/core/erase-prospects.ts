import { claimInTurns } from './claim-in-turns.ts'
import { matchableEmail } from './emails.ts'
import type { ClaimedErasure, ErasureStep } from './ports/erasures.ts'
import type { Needs } from './ports/store.ts'
import { idsSince, isoTime } from './times.ts'

/** Erasures in progress at a time, each by one step. */
const CLAIM_MAX = 4
const LEASE_MS = 20_000
/** A step deletes or looks at no more logs than these: some milliseconds. */
const DELETE_MAX = 500
const LOOK_MAX = 2_000
/** How long an erasure rests whose journal could not be emptied, because somebody reads it. */
const JOURNAL_REST_MS = 1_000
/** How far the clocks of two processes may differ: the second pass looks at logs this much older than the request. */
const CLOCKS_DIFFER_MS_MAX = 15 * 60_000

type NextStep = Extract<ErasureStep, { readonly status: 'processing' }>
type Deps = Omit<Needs<'erasures'>, 'newId'> & {
  /** Longer than any process can go on logging for a prospect after it was erased. */
  readonly settleMs: number
}

/**
 * Does the rest of the erasures: the logs of the prospect are deleted, and the logs of other prospects that carry the same
 * email lose email and name. A process that still remembers the prospect, or is just writing, may add logs meanwhile, so a
 * second pass follows once no process can; only then the erasure is completed.
 *
 * Each call claims some erasures, takes each one short step further, and answers whether there may be more. All progress
 * is in the store, so any process may take the next step, and a kill at any moment loses and doubles nothing.
 */
export const eraseProspects = ({ store: { erasures }, clock, settleMs }: Deps) => {
  const claim = claimInTurns(erasures, { clock, leaseMs: LEASE_MS, restMsMax: settleMs })

  /** What changes by its next step, or null if nothing is left to do. */
  const changesOf = async (erasure: ClaimedErasure): Promise<Partial<NextStep> | null> => {
    const { tenantId, prospectId, emailHash, requestedAt, pass, position } = erasure
    const secondBegins = idsSince('prospectlog', isoTime(Date.parse(requestedAt) - CLOCKS_DIFFER_MS_MAX))
    if (prospectId !== null && position === (pass === 1 ? '' : secondBegins)) {
      const deleted = await erasures.deleteLogs(erasure, DELETE_MAX)
      if (deleted === DELETE_MAX) return {}
    }
    const logs = emailHash === null ? [] : await erasures.emailsAfter(tenantId, position, LOOK_MAX)
    const last = logs.at(-1)
    if (last !== undefined) {
      const foreign = logs.filter(({ email }) => matchableEmail(email ?? '')?.emailHash === emailHash)
      return { position: last.prospectLogId, foreign: foreign.map(({ prospectLogId }) => prospectLogId) }
    }
    const claimableAt = isoTime(Date.parse(requestedAt) + settleMs)
    return pass === 2 ? null : { pass: 2, position: secondBegins, claimableAt }
  }

  const advance = async (erasure: ClaimedErasure): Promise<void> => {
    const changes = await changesOf(erasure)
    const completed = { status: 'completed', at: isoTime(clock()) } as const
    if (changes === null && (await erasures.settle(erasure, completed))) return
    const { pass, position } = erasure
    const claimableAt = isoTime(clock() + (changes === null ? JOURNAL_REST_MS : 0))
    await erasures.settle(erasure, {
      ...{ status: 'processing', pass, position, claimableAt, foreign: [] },
      ...changes,
    })
  }

  return async (stop: AbortSignal): Promise<boolean> => {
    if (stop.aborted) return false
    const claimed = await claim(CLAIM_MAX)
    const ended = await Promise.allSettled(claimed.map(advance))
    // What failed is claimed again after its lease.
    for (const one of ended) if (one.status === 'rejected') throw one.reason
    return claimed.length > 0
  }
}
