import { claimInTurns } from './claim-in-turns.ts'
import { matchableEmail } from './emails.ts'
import type { ClaimedErasure, ErasureStep } from './ports/erasures.ts'
import type { Needs } from './ports/store.ts'
import { idsSince, isoTime } from './times.ts'

/** Erasures in progress at a time. Those of one tenant share a walk over its logs. */
const CLAIM_MAX = 200
const LEASE_MS = 20_000
/** A step deletes or looks at no more logs of a tenant than these: some milliseconds. */
const DELETE_MAX = 500
const LOOK_MAX = 2_000
/** While a process rewrites the store for some erasures, no other one claims them. */
const REWRITE_MS_MAX = 10 * 60_000
/** Those that wait for a rewrite look again at the same full minutes, so that one rewrite serves all. */
const MINUTE_MS = 60_000
/** How far the clocks of two processes may differ: the second pass looks at logs this much older than the request. */
const CLOCKS_DIFFER_MS_MAX = 15 * 60_000
/** The position in front of all logs. */
const BEFORE_LOGS = 'p'

type Deps = Omit<Needs<'erasures'>, 'newId'> & {
  /** Longer than any process can go on logging for a prospect after it was erased. */
  readonly settleMs: number
}

/**
 * Does the rest of the erasures: the logs of the prospect are deleted, and the logs of other prospects that carry the same
 * email lose email and name. A process that still remembers the prospect, or is just writing, may add logs meanwhile, so a
 * second pass follows once no process can. Then the store removes what deleted rows leave on disk; only then the erasure
 * is completed.
 *
 * Each call claims some erasures, takes each tenant's one short step further, and answers whether there may be more. All
 * progress is in the store, so any process may take the next step, and a kill at any moment loses and doubles nothing.
 */
export const eraseProspects = ({ store: { erasures }, clock, settleMs }: Deps) => {
  const restMsMax = Math.max(settleMs, REWRITE_MS_MAX)
  const claim = claimInTurns(erasures, { clock, leaseMs: LEASE_MS, restMsMax })

  /** Deletes logs of these prospects, one after the other, up to a bound for all. */
  const deleteLogs = async (some: readonly ClaimedErasure[]): Promise<readonly ErasureStep[]> => {
    let room = DELETE_MAX
    const steps: ErasureStep[] = []
    for (const erasure of some) {
      if (room > 0 && erasure.prospectId !== null) room -= await erasures.deleteLogs(erasure, room)
      steps.push({ ...erasure, position: room > 0 ? BEFORE_LOGS : '', claimableAt: isoTime(clock()) })
    }
    return steps
  }

  /** Those that are furthest look at the next logs, together. The others wait until they are through, for the next walk. */
  const walkOn = async (tenantId: string, some: readonly ClaimedErasure[]) => {
    const furthest =
      some
        .map(({ position }) => position)
        .sort()
        .at(-1) ?? ''
    const walking = some.filter(({ position }) => position === furthest)
    const after = furthest === BEFORE_LOGS ? walking.map(beginningOf).sort()[0] : furthest
    const hashes = new Set(walking.flatMap(({ emailHash }) => emailHash ?? []))
    const logs = hashes.size === 0 ? [] : await erasures.emailsAfter(tenantId, after ?? '', LOOK_MAX)
    const foreign = logs.filter(({ email }) => hashes.has(matchableEmail(email ?? '')?.emailHash ?? ''))
    const last = logs.at(-1)?.prospectLogId
    const claimableAt = isoTime(clock())
    const steps = some.map((erasure): ErasureStep => {
      if (erasure.position !== furthest) return { ...erasure, claimableAt }
      if (last !== undefined) return { ...erasure, claimableAt, position: last }
      if (erasure.pass === 2) return { ...erasure, claimableAt, position: '', pass: 3 }
      const settledAt = isoTime(Date.parse(erasure.requestedAt) + settleMs)
      return { ...erasure, claimableAt: settledAt, position: '', pass: 2 }
    })
    return { steps, foreign: foreign.map(({ prospectLogId }) => prospectLogId) }
  }

  const advance = async (tenantId: string, some: readonly ClaimedErasure[]): Promise<void> => {
    const deleted = await deleteLogs(some.filter(({ position }) => position === ''))
    const { steps, foreign } = await walkOn(
      tenantId,
      some.filter(({ position }) => position !== ''),
    )
    await erasures.settle(tenantId, [...deleted, ...steps], foreign)
  }

  /** Completes those of which no row is left, once the store is rewritten for all of them. */
  const complete = async (some: readonly ClaimedErasure[]): Promise<void> => {
    const nowMs = clock()
    const settle = async (fields: Partial<ErasureStep>, untilMs: number) => {
      for (const [tenantId, its] of byTenant(some))
        await erasures.settle(
          tenantId,
          its.map((one) => ({ ...one, claimableAt: isoTime(untilMs), ...fields })),
        )
    }
    await settle({}, nowMs + REWRITE_MS_MAX)
    const since = some.map(({ requestedAt }) => requestedAt).sort()[0] ?? ''
    const isRewritten = await erasures.rewrite(isoTime(nowMs), since)
    await settle(
      isRewritten ? { completedAt: isoTime(clock()), status: 'completed' } : {},
      (Math.floor(nowMs / MINUTE_MS) + 1) * MINUTE_MS,
    )
  }

  return async (stop: AbortSignal): Promise<boolean> => {
    if (stop.aborted) return false
    const claimed = await claim(CLAIM_MAX)
    const failures: unknown[] = []
    const searched = claimed.filter(({ pass }) => pass < 3)
    for (const [tenantId, some] of byTenant(searched))
      await advance(tenantId, some).catch((failure) => failures.push(failure))
    if (claimed.length > searched.length) await complete(claimed.filter(({ pass }) => pass === 3))
    // What failed is claimed again after its lease.
    for (const failure of failures) throw failure
    return claimed.length > 0
  }
}

const byTenant = (some: readonly ClaimedErasure[]) => Map.groupBy(some, ({ tenantId }) => tenantId)

/** The position in front of the logs that a pass looks at. */
const beginningOf = ({ pass, requestedAt }: ClaimedErasure): string =>
  pass === 1 ? '' : idsSince('prospectlog', isoTime(Date.parse(requestedAt) - CLOCKS_DIFFER_MS_MAX))
