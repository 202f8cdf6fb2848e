import { callHook } from '../engine/outcome.ts'
import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import type { RemovalPosition, Tenant } from '../ports/tenants.ts'

/** Rows of a tenant that one step deletes. */
const ROWS_MAX = 500

type Deps = Omit<Needs<'tenants' | 'erasures'>, 'newId'> & {
  /** Longer than any process can go on writing for a tenant after it was suspended. */
  readonly settleMs: number
  /** Called for each tenant whose turn failed: its next one is in the next step. */
  readonly onError: (error: unknown) => void
}
/** `sinceMs`: when its deletion began; not later than this process first saw it, as that time would be of a wrong clock. */
type Progress = { readonly sinceMs: number; after: RemovalPosition | null }

/**
 * Removes the data of deleted tenants, once no process can still be writing for them: table after table, and the tenant
 * last, when nothing else of it is left. Each call takes one short step for each of them, and returns whether there are
 * more. Several processes may remove the same tenant, and the rest left by a killed one is found again.
 */
export const removeTenants = ({ store: { tenants, erasures }, clock, settleMs, onError }: Deps) => {
  let known = new Map<string, Progress>()

  /** Removes some rows. Returns whether more are left. */
  const removeSome = async (tenantId: string, progress: Progress): Promise<boolean> => {
    progress.after = await tenants.removeSome({ tenantId, after: progress.after, max: ROWS_MAX })
    return progress.after !== null || (await tenants.left(tenantId)).length > 0
  }

  return async (stop: AbortSignal): Promise<boolean> => {
    const deleting = await tenants.deleting()
    const progressOf = ({ tenantId, deletedAt }: Tenant): Progress =>
      known.get(tenantId) ?? { sinceMs: Math.min(clock(), Date.parse(deletedAt ?? '')), after: null }
    known = new Map(deleting.map((tenant) => [tenant.tenantId, progressOf(tenant)]))
    const emptied: string[] = []
    let isMoreLeft = false
    for (const [tenantId, progress] of known) {
      if (stop.aborted || clock() < progress.sinceMs + settleMs) continue
      const isMore = await removeSome(tenantId, progress).catch((error) => callHook(() => onError(error)))
      if (isMore) isMoreLeft = true
      if (isMore === false) emptied.push(tenantId)
    }
    // The data that their rows leave on disk is removed once for all of them. If that is not possible now, they wait.
    if (emptied.length > 0 && (await erasures.rewrite(isoTime(clock()))))
      for (const tenantId of emptied) await tenants.remove(tenantId)
    return isMoreLeft
  }
}
