import { claimInTurns } from '../engine/claim-in-turns.ts'
import { isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { Needs } from '../ports/store.ts'
import type { ClaimedVersion, Settlement } from '../ports/versions.ts'
import type { PatientNamer } from './name-patiently.ts'
import { shownStatus, statusAfter } from './version-states.ts'

export const ATTEMPTS_MAX = 5
/** How long a version rests if the store could not return the facts that its namer needs. */
const REST_MS = 1_000

type Deps = Needs<'versions'> & {
  /** Names pages. Without a namer, a page keeps the name that it was created with. */
  readonly namer: PatientNamer | null
  /** Versions in progress at a time. */
  readonly claimMax: number
  /** Longer than the namer may take. */
  readonly leaseMs: number
  /** Versions that this process creates for this publisher, already claimed. Needs no namer. */
  readonly handOver?: HandedOver | undefined
}

/** Versions that are handed over to a publisher; `accept` without a function ends that. */
type HandedOver = { readonly accept: () => void; readonly take: () => readonly ClaimedVersion[] }
type Ended = ClaimedVersion & Settlement

const failed = statusAfter('processing', 'fail')
const finished = (publish: boolean) => statusAfter('processing', publish ? 'finish' : 'finishUnpublished')

/**
 * Claims waiting versions and publishes them, each with a name from the namer.
 *
 * Each call is one step: it claims as many versions as it has room for, if it is `asked` to look or the last claim may
 * have left some, waits until an attempt ends or `woken` resolves, and saves the ended attempts. It returns false once
 * nothing is waiting or in progress. Tenants take turns: each claim starts with the tenant after the last one served.
 *
 * The namer is called outside of any write, and retried within the same attempt. An attempt that `stop` ended does not
 * count, and after `stop` nothing more is claimed. A version whose attempts all ended without a result, because their
 * publishers died, is `failed`. Nothing is published twice: a publisher that was too slow has lost its claim, and its
 * result is ignored.
 */
export const publishVersions = ({ store, clock, newId, namer, claimMax, leaseMs, handOver }: Deps) => {
  const inProgress = new Set<Promise<void>>()
  const ended: Ended[] = []
  /** Errors of the store; thrown once the others have been saved. */
  const errors: unknown[] = []
  const keepError = (error: unknown) => void errors.push(error)
  const claimMore = claimInTurns(store.versions, { clock, leaseMs })

  const finishedAs = (version: ClaimedVersion, computedName: string | null): Ended => ({
    ...version,
    status: finished(version.publish),
    at: isoTime(clock()),
    computedName,
  })
  const nameWith = async (
    namer: PatientNamer,
    version: ClaimedVersion,
    stop: AbortSignal,
  ): Promise<Ended> => {
    const waitingFor = (ms: number, counts: boolean) =>
      ({ ...version, status: 'processing', claimableAt: isoTime(clock() + ms), counts }) as const
    try {
      const context = await store.versions.context(version)
      return finishedAs(version, context && (await namer(context, stop, version)))
    } catch (error) {
      if (stop.aborted) return waitingFor(0, false)
      keepError(error)
      return version.attempt < ATTEMPTS_MAX ? waitingFor(REST_MS, true) : finishedAs(version, null)
    }
  }

  const start = (version: ClaimedVersion, stop: AbortSignal): void => {
    if (version.attempt > ATTEMPTS_MAX) {
      const reason = `Gave up after ${ATTEMPTS_MAX} interrupted attempts.`
      return void ended.push({ ...version, status: failed, reason })
    }
    if (namer === null) return void ended.push(finishedAs(version, null))
    const attempt = nameWith(namer, version, stop)
      .then((settled) => void ended.push(settled))
      .catch(keepError)
      .finally(() => inProgress.delete(attempt))
    inProgress.add(attempt)
  }

  const settleEnded = async (): Promise<void> => {
    const byTenant = Map.groupBy(newestAttempts(ended.splice(0)), ({ tenantId }) => tenantId)
    await Promise.all([...byTenant].map((ofTenant) => settle(...ofTenant).catch(keepError)))
  }

  const eventsOf = ({ tenantId, pageGroupId, pageId, versionId, status, publishAt }: Ended) => {
    const shown = shownStatus(status, publishAt)
    if (shown === 'processing') return []
    const ids = { pageGroupId, pageId, versionId }
    return newEvent(newId, `page_version.${shown}`, { tenantId }, ids, isoTime(clock()))
  }

  /** A version that is not published, because there is a newer one, is ready. */
  const settle = async (tenantId: string, ended: readonly Ended[]): Promise<void> => {
    const saved = new Set(await store.versions.settle(tenantId, ended, ended.flatMap(eventsOf)))
    const overtaken = ended.filter(({ status, versionId }) => status === 'published' && !saved.has(versionId))
    const ready = overtaken.map((one) => ({ ...one, status: finished(false) }) as Ended)
    if (ready.length > 0) await store.versions.settle(tenantId, ready, ready.flatMap(eventsOf))
  }

  let mayBeMore = false
  return async (stop: AbortSignal, woken?: Promise<void>, asked = true): Promise<boolean> => {
    mayBeMore ||= asked
    if (stop.aborted) handOver?.accept()
    const taken = handOver?.take() ?? []
    const room = stop.aborted ? 0 : claimMax - inProgress.size - taken.length
    for (const version of taken) start(version, stop)
    if (room > 0 && mayBeMore) {
      for (const version of await claimMore(room)) start(version, stop)
      mayBeMore = claimMore.mayBeMore()
    }
    if (inProgress.size + ended.length === 0) return false
    if (ended.length === 0) await Promise.race(woken ? [...inProgress, woken] : inProgress)
    await settleEnded()
    if (errors.length > 0) throw errors.splice(0)[0]
    return true
  }
}

/**
 * Of each version the newest attempt: one that was slow may end together with the one that claimed the version after its
 * lease, and the store would save the events of both with it.
 */
const newestAttempts = (ended: readonly Ended[]): Ended[] => {
  const newest = new Map<string, Ended>()
  for (const done of ended)
    if (done.attempt > (newest.get(done.versionId)?.attempt ?? 0)) newest.set(done.versionId, done)
  return [...newest.values()]
}
