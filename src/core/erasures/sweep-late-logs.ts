import { callListener } from '../engine/call-listener.ts'
import { idsSince } from '../engine/id-times.ts'
import { DAY_MS, isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import type { Tenant } from '../ports/tenants.ts'

/** Erasures and merges requested earlier are not checked. */
const LOOK_DAYS = 8
const LIST_MAX = 100
/** A list of logs that is deleted or moved: some milliseconds. */
const LOGS_MAX = 500

type Deps = Omit<Needs<'erasures' | 'merges' | 'tenants'>, 'newId'> & {
  /** Called for each tenant whose turn failed: its next one is in the next round. */
  readonly onError: (error: unknown) => void
}

/**
 * Deletes or moves logs that arrived after the erasure or the merge of their prospect was completed. A write of the
 * service checks its prospect, and the second pass waits for those that began before; so this finds logs only if old
 * rows were restored, or if another program wrote them. Rows of removed tenants stay: a restore that is not finished has
 * rows without tenants, too.
 * Each call takes one step of a round over all tenants, and returns if there are more.
 */
export const sweepLateLogs = ({ store: { erasures, merges, tenants }, clock, onError }: Deps) => {
  async function* moveLateLogs(tenantId: string, since: string) {
    let afterId = idsSince('merge', since)
    while (afterId !== '') {
      const list = await merges.completed({ tenantId, afterId, limit: LIST_MAX })
      for (const merge of list) {
        while ((await merges.moveLogs(merge, LOGS_MAX)) > 0) yield
      }
      afterId = list.length < LIST_MAX ? '' : (list.at(-1)?.mergeId ?? '')
      yield
    }
  }

  async function* deleteLateLogs(tenantId: string, since: string) {
    const firstId = idsSince('erasure', since)
    let hasDeleted = false
    let beforeId: string | null = null
    while (beforeId !== '') {
      const list = await erasures.list({ tenantId, beforeId, limit: LIST_MAX })
      const recent = list.filter(({ erasureId }) => erasureId >= firstId)
      for (const erasure of recent) {
        if (erasure.status !== 'completed' || erasure.prospectId === null) continue
        while ((await erasures.deleteLogs(erasure, LOGS_MAX)) > 0) {
          hasDeleted = true
          yield
        }
      }
      // The list has one row more than its limit if others follow.
      beforeId = recent.length <= LIST_MAX ? '' : (recent.at(-1)?.erasureId ?? '')
      yield
    }
    if (hasDeleted) await erasures.purgeDeleted(isoTime(clock()))
  }

  /** Moves first, because moved logs may belong to a prospect that was erased since. */
  async function* sweepTenant(tenantId: string, since: string) {
    try {
      yield* moveLateLogs(tenantId, since)
      yield* deleteLateLogs(tenantId, since)
    } catch (error) {
      callListener(() => onError(error))
    }
  }

  async function* sweep() {
    const since = isoTime(Math.max(0, clock() - LOOK_DAYS * DAY_MS))
    let afterId: string | undefined = ''
    while (afterId !== undefined) {
      const list: readonly Tenant[] = await tenants.list(afterId, LIST_MAX)
      for (const { tenantId } of list) yield* sweepTenant(tenantId, since)
      afterId = list.at(-1)?.tenantId
    }
  }

  let steps = sweep()
  return async (stop: AbortSignal): Promise<boolean> => {
    if (stop.aborted) return false
    const { done } = await steps.next()
    if (done) steps = sweep()
    return !done
  }
}
