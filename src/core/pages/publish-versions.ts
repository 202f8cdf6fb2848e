import { claimFairly } from '../engine/claim-fairly.ts'
import { throwFirst } from '../engine/outcome.ts'
import type { Needs } from '../ports/store.ts'
import type { ClaimedVersion, HandOver } from '../ports/versions.ts'
import type { PatientNamer } from './name-patiently.ts'
import { type EndedAttempt, nameVersion } from './name-version.ts'
import { settleAttempts } from './settle-attempts.ts'

type Deps = Needs<'versions'> & {
  /** Names pages. Without a namer, a page keeps the name that it was created with. */
  readonly namer: PatientNamer | null
  /** Versions in progress at a time. */
  readonly claimMax: number
  /** Longer than the namer may take. */
  readonly leaseMs: number
  /** Versions that this process creates for this publisher, already claimed. Needs no namer. */
  readonly handOver?: HandOver | undefined
}

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
  const ended: EndedAttempt[] = []
  /** Errors of the store; the first is thrown once the other attempts have been saved. */
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const claims = claimFairly(store.versions, { clock, leaseMs })
  const attempt = nameVersion({ store, clock, namer, onError })
  const settle = settleAttempts({ store, clock, newId, onError })

  const start = (version: ClaimedVersion, stop: AbortSignal): void => {
    const result = attempt(version, stop)
    if (!(result instanceof Promise)) {
      ended.push(result)
      return
    }
    const progress = result
      .then((end) => void ended.push(end))
      .catch(onError)
      .finally(() => inProgress.delete(progress))
    inProgress.add(progress)
  }

  let mayBeMore = false
  const startAll = async (stop: AbortSignal): Promise<void> => {
    const handedOver = handOver?.takeAll() ?? []
    const room = stop.aborted ? 0 : claimMax - inProgress.size - handedOver.length
    for (const version of handedOver) start(version, stop)
    if (room <= 0 || !mayBeMore) return
    for (const version of await claims.claim(room)) start(version, stop)
    mayBeMore = claims.mayBeMore()
  }

  return async (stop: AbortSignal, woken?: Promise<void>, asked = true): Promise<boolean> => {
    mayBeMore ||= asked
    if (stop.aborted) handOver?.unregister()
    await startAll(stop)
    if (inProgress.size === 0 && ended.length === 0) return false
    if (ended.length === 0) await Promise.race(woken ? [...inProgress, woken] : inProgress)
    await settle(ended.splice(0))
    throwFirst(errors.splice(0))
    return true
  }
}
