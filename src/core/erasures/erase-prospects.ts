import { claimFairly } from '../engine/claim-fairly.ts'
import { throwFirst } from '../engine/outcome.ts'
import { isoTime } from '../engine/times.ts'
import { type ClaimedErasure, ERASURE_PASSES, type ErasureStep } from '../ports/erasures.ts'
import type { Needs, Store } from '../ports/store.ts'
import { identifiersOf, identifiersToLookUp } from '../prospects/identifiers.ts'
import type { MayNoteConflicts } from '../prospects/note-conflicts.ts'
import { REWRITE_MS_MAX, rewriteStore } from './rewrite-store.ts'

/** Erasures in progress at a time. Erasures of one tenant share a walk over its logs. */
const CLAIM_MAX = 200
const LEASE_MS = 20_000
/** Between two looks at whether earlier writes have ended. */
const SETTLE_REST_MS = 500
/** One step deletes or reads at most this many logs of a tenant: some milliseconds. */
const DELETE_MAX = 500
const LOOK_MAX = 2_000
/** The position before all logs. Both passes begin there: an id says only when the clock of some process made it. */
const BEFORE_LOGS = 'p'

/** A small store need not count prospects. */
type MayCountProspects = { readonly store: Partial<Pick<Store, 'prospectCounts'>> }
type Deps = Omit<Needs<'erasures' | 'moments'>, 'newId'> & MayNoteConflicts & MayCountProspects

/**
 * Completes erasures: the logs of the prospect are deleted, and the logs of other prospects that carry an identifier
 * that is blocked lose email, external id and name. A write that began before the erasure may still add logs, so a
 * second pass follows once all such writes have ended. Then the store removes the data that deleted rows leave on disk
 * (`rewriteStore`); only then the erasure is completed.
 *
 * Each call claims some erasures, takes each tenant's one step further, and returns whether there may be more. All
 * progress is in the store, so any process may take the next step, and a kill at any moment loses and doubles nothing.
 */
export const eraseProspects = ({ store, clock }: Deps) => {
  const { erasures, moments, prospectConflicts, prospectCounts } = store
  const { claim } = claimFairly(erasures, {
    clock,
    leaseMs: LEASE_MS,
    restMsMax: SETTLE_REST_MS + REWRITE_MS_MAX,
  })

  const stepOf = (erasure: ClaimedErasure, changes: Partial<ErasureStep> = {}): ErasureStep => ({
    ...erasure,
    claimableAt: isoTime(clock()),
    ...changes,
  })

  /** Deletes logs of the erased prospects, their counted days, and the conflicts that name them, as many as one step may. */
  const deleteLogs = async (beginning: readonly ClaimedErasure[]): Promise<ErasureStep[]> => {
    const steps: ErasureStep[] = []
    let room = DELETE_MAX
    for (const erasure of beginning) {
      const { tenantId, prospectId } = erasure
      if (room > 0 && prospectId !== null) {
        room -= await erasures.deleteLogs(erasure, room)
        if (room > 0) room -= (await prospectConflicts?.removeOf({ tenantId, prospectId }, room)) ?? 0
        if (room > 0) room -= (await prospectCounts?.removeOf({ tenantId, prospectId }, room)) ?? 0
      }
      steps.push(stepOf(erasure, { position: room > 0 ? BEFORE_LOGS : '' }))
    }
    return steps
  }

  /** The next logs of a tenant, and those of them that have an identifier which one of these erasures blocks. */
  const searchLogs = async (tenantId: string, position: string, walking: readonly ClaimedErasure[]) => {
    const erasureIds = walking.map(({ erasureId }) => erasureId)
    const blocked = await erasures.blockedBy(tenantId, erasureIds)
    const hashes = new Set(blocked.map(({ kind, hash }) => `${kind} ${hash}`))
    const logs = hashes.size > 0 ? await erasures.namesAfter(tenantId, position, LOOK_MAX) : []
    const foreign = logs.filter((log) => {
      const identifiers = identifiersToLookUp(tenantId, identifiersOf(log))
      return identifiers.some(({ kind, hash }) => hashes.has(`${kind} ${hash}`))
    })
    return {
      foreignIds: foreign.map(({ prospectLogId }) => prospectLogId),
      lastId: logs.at(-1)?.prospectLogId,
    }
  }

  /** The step of an erasure that has read the logs up to the last one found, if there was one. */
  const stepAfter = async (erasure: ClaimedErasure, lastId: string | undefined): Promise<ErasureStep> => {
    if (lastId !== undefined) return stepOf(erasure, { position: lastId })
    if (erasure.pass === ERASURE_PASSES.second) {
      return stepOf(erasure, { pass: ERASURE_PASSES.waitsForRewrite })
    }
    return stepOf(erasure, {
      pass: ERASURE_PASSES.second,
      position: '',
      settlesAfter: await moments.now(erasure.tenantId),
    })
  }

  /**
   * Erasures of one tenant. Logs of prospects are deleted first. Then the erasures furthest along read the next logs,
   * together; the others wait until these are through, and share the walk after it.
   */
  const advance = async (tenantId: string, ofTenant: readonly ClaimedErasure[]): Promise<void> => {
    const steps = await deleteLogs(ofTenant.filter(({ position }) => position === ''))
    const cleared = ofTenant.filter(({ position }) => position !== '')
    const [furthest = ''] = cleared.map(({ position }) => position).toSorted(descending)
    const walking = cleared.filter(({ position }) => position === furthest)
    const { foreignIds, lastId } = await searchLogs(tenantId, furthest, walking)
    for (const erasure of cleared) {
      const isWalking = erasure.position === furthest
      steps.push(isWalking ? await stepAfter(erasure, lastId) : stepOf(erasure))
    }
    await erasures.settle(tenantId, steps, foreignIds)
  }

  const settleWith =
    (changes: Partial<ErasureStep>) => (tenantId: string, ofTenant: readonly ClaimedErasure[]) => {
      const claimableAt = isoTime(clock())
      const steps = ofTenant.map((erasure) => ({ ...erasure, claimableAt, ...changes }))
      return erasures.settle(tenantId, steps)
    }

  return async (stop: AbortSignal): Promise<boolean> => {
    if (stop.aborted) return false
    const claimed = await claim(CLAIM_MAX)
    const failures: unknown[] = []
    /** Handles each tenant separately: one that fails holds up no other. */
    const eachTenant = async (list: readonly ClaimedErasure[], work: ReturnType<typeof settleWith>) => {
      for (const [tenantId, ofTenant] of Map.groupBy(list, ({ tenantId }) => tenantId)) {
        if (!stop.aborted) await work(tenantId, ofTenant).catch((failure) => failures.push(failure))
      }
    }
    const inPass = (wanted: ClaimedErasure['pass']) => claimed.filter(({ pass }) => pass === wanted)

    const searching = [...inPass(ERASURE_PASSES.first), ...inPass(ERASURE_PASSES.second)]
    const past = await moments.arePast(searching.map(({ settlesAfter }) => settlesAfter ?? ''))
    const isSettled = ({ settlesAfter }: ClaimedErasure, i: number) => settlesAfter === null || past[i]
    const settling = searching.filter((erasure, i) => !isSettled(erasure, i))
    await eachTenant(settling, settleWith({ claimableAt: isoTime(clock() + SETTLE_REST_MS) }))
    await eachTenant(searching.filter(isSettled), advance)
    const completed = settleWith({ status: 'completed', completedAt: isoTime(clock()) })
    // An erasure is completed after all of its parts.
    const rewritten = inPass(ERASURE_PASSES.rewritten)
    await eachTenant(
      rewritten.filter(({ partOf }) => partOf !== null),
      completed,
    )
    await eachTenant(
      rewritten.filter(({ partOf }) => partOf === null),
      completed,
    )
    const waiting = stop.aborted ? [] : inPass(ERASURE_PASSES.waitsForRewrite)
    if (waiting.length > 0)
      await rewriteStore({ store, clock }, (changes) => eachTenant(waiting, settleWith(changes)))
    // Failed erasures are claimed again after their lease.
    throwFirst(failures)
    return claimed.length > 0
  }
}

const descending = (a: string, b: string): number => (a < b ? 1 : -1)
