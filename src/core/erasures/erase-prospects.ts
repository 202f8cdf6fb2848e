import { claimInTurns } from '../engine/claim-in-turns.ts'
import { idsSince } from '../engine/id-times.ts'
import { isoTime, MINUTE_MS } from '../engine/times.ts'
import type { ClaimedErasure, ErasureStep } from '../ports/erasures.ts'
import type { Needs } from '../ports/store.ts'
import { identifiersOf } from '../prospects/identifiers.ts'

/** Erasures in progress at a time. Erasures of one tenant share a walk over its logs. */
const CLAIM_MAX = 200
const LEASE_MS = 20_000
/** One step deletes or reads at most this many logs of a tenant: some milliseconds. */
const DELETE_MAX = 500
const LOOK_MAX = 2_000
/** While a process rewrites the store for some erasures, no other process claims them. */
const REWRITE_MS_MAX = 10 * 60_000
/** How far the clocks of two processes may differ: the second pass reads logs this much older than the request. */
const CLOCKS_DIFFER_MS_MAX = 15 * 60_000
/** The position before all logs. */
const BEFORE_LOGS = 'p'

type Deps = Omit<Needs<'erasures'>, 'newId'> & {
  /** Longer than any process can go on logging for a prospect after its erasure. */
  readonly settleMs: number
}

/**
 * Completes erasures: the logs of the prospect are deleted, and the logs of other prospects that carry the same email
 * or external id lose both, and the name. A process that still remembers the prospect, or is just writing, may add logs
 * until then, so a second pass follows once no process can. Then the store removes the data that deleted rows leave on
 * disk; only then the erasure is completed.
 *
 * Each call claims some erasures, takes each tenant's one step further, and returns whether there may be more. All
 * progress is in the store, so any process may take the next step, and a kill at any moment loses and doubles nothing.
 */
export const eraseProspects = ({ store: { erasures }, clock, settleMs }: Deps) => {
  const claim = claimInTurns(erasures, { clock, leaseMs: LEASE_MS, restMsMax: settleMs + REWRITE_MS_MAX })

  /**
   * Erasures of one tenant. Logs of prospects are deleted first. Then the erasures furthest along read the next logs,
   * together; the others wait until these are through, and share the walk after it.
   */
  const advance = async (tenantId: string, some: readonly ClaimedErasure[]): Promise<void> => {
    const steps: ErasureStep[] = []
    const add = (erasure: ClaimedErasure, changes: Partial<ErasureStep> = {}) =>
      steps.push({ ...erasure, claimableAt: isoTime(clock()), ...changes })
    let room = DELETE_MAX
    for (const erasure of some.filter(({ position }) => position === '')) {
      if (room > 0 && erasure.prospectId !== null) room -= await erasures.deleteLogs(erasure, room)
      add(erasure, { position: room > 0 ? BEFORE_LOGS : '' })
    }
    const cleared = some.filter(({ position }) => position !== '')
    const [furthest = ''] = cleared.map(({ position }) => position).toSorted(descending)
    const walking = cleared.filter(({ position }) => position === furthest)
    const after = furthest === BEFORE_LOGS ? walking.map(beginningOf).sort()[0] : furthest
    const emails = new Set(walking.flatMap(({ emailHash }) => emailHash ?? []))
    const externalIds = new Set(walking.flatMap(({ externalIdHash }) => externalIdHash ?? []))
    const isNamed = emails.size + externalIds.size > 0
    const logs = isNamed ? await erasures.namesAfter(tenantId, after ?? '', LOOK_MAX) : []
    const foreign = logs.filter((log) => {
      const { emailHash, formerEmailHash, externalIdHash } = identifiersOf(log)
      return (
        [emailHash, formerEmailHash].some((hash) => emails.has(hash ?? '')) ||
        externalIds.has(externalIdHash ?? '')
      )
    })
    const last = logs.at(-1)?.prospectLogId
    for (const erasure of cleared) {
      if (erasure.position !== furthest) add(erasure)
      else if (last !== undefined) add(erasure, { position: last })
      else if (erasure.pass === 2) add(erasure, { pass: 3 })
      // Counted from now, not from the request: the clock of the process that took it may differ.
      else add(erasure, { pass: 2, position: '', claimableAt: isoTime(clock() + settleMs) })
    }
    const foreignIds = foreign.map(({ prospectLogId }) => prospectLogId)
    await erasures.settle(tenantId, steps, foreignIds)
  }

  const settleWith =
    (changes: Partial<ErasureStep>) => (tenantId: string, some: readonly ClaimedErasure[]) => {
      const claimableAt = isoTime(clock())
      const steps = some.map((erasure) => ({ ...erasure, claimableAt, ...changes }))
      return erasures.settle(tenantId, steps)
    }

  return async (stop: AbortSignal): Promise<boolean> => {
    if (stop.aborted) return false
    const claimed = await claim(CLAIM_MAX)
    const failures: unknown[] = []
    /** Handles each tenant separately: one that fails holds up no other. */
    const eachTenant = async (some: readonly ClaimedErasure[], work: ReturnType<typeof settleWith>) => {
      for (const [tenantId, its] of Map.groupBy(some, ({ tenantId }) => tenantId))
        if (!stop.aborted) await work(tenantId, its).catch((failure) => failures.push(failure))
    }
    const inPass = (wanted: number) => claimed.filter(({ pass }) => pass === wanted)

    await eachTenant([...inPass(1), ...inPass(2)], advance)
    const completed = settleWith({ status: 'completed', completedAt: isoTime(clock()) })
    // Parts first.
    for (const isPart of [true, false])
      await eachTenant(
        inPass(4).filter(({ partOf }) => (partOf !== null) === isPart),
        completed,
      )
    const waiting = stop.aborted ? [] : inPass(3)
    if (waiting.length > 0) {
      const nowMs = clock()
      await eachTenant(waiting, settleWith({ claimableAt: isoTime(nowMs + REWRITE_MS_MAX) }))
      const isRewritten = await erasures.rewrite(isoTime(nowMs))
      // At the same full minutes, so that one rewrite serves all.
      const nextMinute = isoTime((Math.floor(nowMs / MINUTE_MS) + 1) * MINUTE_MS)
      await eachTenant(waiting, settleWith(isRewritten ? { pass: 4 } : { claimableAt: nextMinute }))
    }
    // Failed erasures are claimed again after their lease.
    for (const failure of failures) throw failure
    return claimed.length > 0
  }
}

const descending = (a: string, b: string): number => (a < b ? 1 : -1)

/** The position before the logs that a pass reads. */
const beginningOf = ({ pass, requestedAt }: ClaimedErasure): string =>
  pass === 1 ? '' : idsSince('prospectlog', isoTime(Date.parse(requestedAt) - CLOCKS_DIFFER_MS_MAX))
