import { idsSince } from '../engine/id-times.ts'
import { callHook } from '../engine/outcome.ts'
import { DAY_MS, isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'

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
 * rows were restored, or if another program wrote them. Rows of removed tenants stay: a restore that is not finished has rows without tenants too.
 * Each call takes one step of a round over all tenants, and returns if there are more.
 */
export const sweepLateLogs = ({ store: { erasures, merges, tenants }, clock, onError }: Deps) => {
  // First, because these logs may move to a prospect that was erased since.
  const moveLateLogs = async function* (tenantId: string, since: string) {
    for (let afterId = idsSince('merge', since); afterId !== ''; ) {
      const some = await merges.completed({ tenantId, afterId, limit: LIST_MAX })
      for (const merge of some) while ((await merges.moveLogs(merge, LOGS_MAX)) > 0) yield
      afterId = some.length < LIST_MAX ? '' : (some.at(-1)?.mergeId ?? '')
      yield
    }
  }
  const deleteLateLogs = async function* (tenantId: string, since: string) {
    const firstId = idsSince('erasure', since)
    let isFound = false
    for (let beforeId: string | null = null; beforeId !== ''; ) {
      const some = await erasures.list({ tenantId, beforeId, limit: LIST_MAX })
      const recent = some.filter(({ erasureId }) => erasureId >= firstId)
      for (const erasure of recent) {
        if (erasure.status !== 'completed' || erasure.prospectId === null) continue
        for (; (await erasures.deleteLogs(erasure, LOGS_MAX)) > 0; isFound = true) yield
      }
      beforeId = recent.length <= LIST_MAX ? '' : (recent.at(-1)?.erasureId ?? '')
      yield
    }
    if (isFound) await erasures.rewrite(isoTime(clock()))
  }
  const sweep = async function* () {
    const since = isoTime(Math.max(0, clock() - LOOK_DAYS * DAY_MS))
    for (let afterId: string | undefined = ''; afterId !== undefined; ) {
      const some = await tenants.list(afterId, LIST_MAX)
      for (const { tenantId } of some)
        try {
          yield* moveLateLogs(tenantId, since)
          yield* deleteLateLogs(tenantId, since)
        } catch (error) {
          callHook(() => onError(error))
        }
      afterId = some.at(-1)?.tenantId
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
