import { isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { Needs } from '../ports/store.ts'
import type { EndedAttempt } from './name-version.ts'
import { shownStatus, statusAfter } from './version-states.ts'

type Deps = Needs<'versions'> & {
  /** Called for each error of the store. The versions are claimed again after their lease. */
  readonly onError: (error: unknown) => void
}

/** Saves ended attempts with their events, tenant by tenant: a tenant whose save fails holds up no other. */
export const settleAttempts = ({ store, clock, newId, onError }: Deps) => {
  const eventsOf = ({ tenantId, pageGroupId, pageId, versionId, status, publishAt }: EndedAttempt) => {
    const shown = shownStatus(status, publishAt)
    if (shown === 'processing') return []
    const ids = { pageGroupId, pageId, versionId }
    return [
      newEvent(newId, {
        type: `page_version.${shown}`,
        sender: { tenantId },
        ids,
        createdAt: isoTime(clock()),
      }),
    ]
  }
  const save = (tenantId: string, attempts: readonly EndedAttempt[]): Promise<readonly string[]> =>
    store.versions.settle(tenantId, attempts, attempts.flatMap(eventsOf))

  /** Saves a version as ready if it cannot be published, because there is a newer one. */
  const saveOrRetry = async (tenantId: string, attempts: readonly EndedAttempt[]): Promise<void> => {
    const savedIds = new Set(await save(tenantId, attempts))
    const overtaken = attempts.filter(({ versionId }) => !savedIds.has(versionId))
    const ready = overtaken.flatMap(readyInstead)
    if (ready.length > 0) await save(tenantId, ready)
  }

  return async (attempts: readonly EndedAttempt[]): Promise<void> => {
    const byTenant = Map.groupBy(newestAttempts(attempts), ({ tenantId }) => tenantId)
    await Promise.all(
      [...byTenant].map(([tenantId, attempts]) => saveOrRetry(tenantId, attempts).catch(onError)),
    )
  }
}

/** Nothing for an attempt that was not to publish its version. */
const readyInstead = (attempt: EndedAttempt): readonly EndedAttempt[] =>
  attempt.status === 'published'
    ? [{ ...attempt, status: statusAfter('processing', 'finishUnpublished') }]
    : []

/**
 * The newest attempt of each version. A slow attempt may end together with that of a publisher that claimed the version
 * after its lease, and the store would save the events of both.
 */
const newestAttempts = (attempts: readonly EndedAttempt[]): EndedAttempt[] => {
  const newest = new Map<string, EndedAttempt>()
  for (const attempt of attempts) {
    const other = newest.get(attempt.versionId)
    if (other === undefined || attempt.attempt > other.attempt) newest.set(attempt.versionId, attempt)
  }
  return [...newest.values()]
}
