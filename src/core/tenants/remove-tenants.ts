import { callListener } from '../engine/call-listener.ts'
import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import type { RemovalPosition } from '../ports/tenants.ts'
import type { Moment } from '../ports/world.ts'

/** Rows of a tenant that one step deletes. */
const ROWS_MAX = 500

type Deps = Omit<Needs<'tenants' | 'erasures' | 'moments'>, 'newId'> & {
  /** Called for each tenant whose turn failed: its next one is in the next step. */
  readonly onError: (error: unknown) => void
}
/** `seen`: when this process first saw that the tenant is deleted. Writes that began before may still add rows. */
type Progress = { readonly seen: Moment; after: RemovalPosition | null }

/**
 * Removes the data of deleted tenants, once the writes that began before have ended: table after table, and the tenant
 * last, when nothing else of it is left. Each call takes one short step for each of them, and returns whether there are
 * more. Several processes may remove the same tenant, and the rest left by a killed one is found again.
 */
export const removeTenants = ({ store: { tenants, erasures, moments }, clock, onError }: Deps) => {
  let known = new Map<string, Progress>()

  /** Removes some rows. Returns whether more are left. */
  const removeSome = async (tenantId: string, progress: Progress): Promise<boolean> => {
    progress.after = await tenants.removeSome({ tenantId, after: progress.after, max: ROWS_MAX })
    return progress.after !== null || (await tenants.left(tenantId)).length > 0
  }

  return async (stop: AbortSignal): Promise<boolean> => {
    const deleting = await tenants.deleting()
    const progress = new Map<string, Progress>()
    for (const { tenantId } of deleting)
      progress.set(tenantId, known.get(tenantId) ?? { seen: await moments.now(tenantId), after: null })
    known = progress
    const past = await moments.arePast([...known.values()].map(({ seen }) => seen))
    const emptied: string[] = []
    let isMoreLeft = false
    for (const [i, [tenantId, progress]] of [...known].entries()) {
      if (stop.aborted || !past[i]) continue
      const isMore = await removeSome(tenantId, progress).catch((error) => callListener(() => onError(error)))
      if (isMore) isMoreLeft = true
      if (isMore === false) emptied.push(tenantId)
    }
    // The data that their rows leave on disk is removed once for all of them. If that is not possible now, they wait.
    if (emptied.length > 0 && (await erasures.purgeDeleted(isoTime(clock()))))
      for (const tenantId of emptied) await tenants.remove(tenantId)
    return isMoreLeft
  }
}
