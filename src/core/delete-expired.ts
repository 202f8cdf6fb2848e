import { firstIdAt } from './id-times.ts'
import type { Needs } from './ports/store.ts'
import type { Tenant } from './ports/tenants.ts'
import { DAY_MS, isoTime } from './times.ts'

const TENANTS_MAX = 100
const DELETE_MAX = 500

type Deps = Omit<Needs<'erasures' | 'tenants'>, 'newId'> & {
  /** How long logs are kept, unless their tenant has its own time; null: for ever. */
  readonly retentionDays: number | null
}

/**
 * Deletes what has expired: blocks of emails, and logs that were stored longer ago than they are to be kept. Each call goes
 * on with some tenants, a short list of each, and answers whether there may be more: all tenants in turn, again and again
 * until nothing of any is left. What fails at one tenant, is thrown when all have had their turn.
 */
export const deleteExpired = ({ store, clock, retentionDays }: Deps) => {
  let lastTenantId = ''
  let isMoreLeft = false
  let errors: unknown[] = []

  const deleteOf = async ({ tenantId, retentionDays: own }: Tenant): Promise<void> => {
    const nowMs = clock()
    const days = own ?? retentionDays ?? 0
    const beforeLogId = days === 0 ? null : firstIdAt('prospectlog', nowMs - days * DAY_MS)
    if (await store.erasures.expire({ tenantId, now: isoTime(nowMs), beforeLogId, max: DELETE_MAX }))
      isMoreLeft = true
  }

  return async (stop: AbortSignal): Promise<boolean> => {
    const tenants = await store.tenants.list(lastTenantId, TENANTS_MAX)
    for (const tenant of tenants)
      if (!stop.aborted) await deleteOf(tenant).catch((error) => errors.push(error))
    lastTenantId = tenants.at(-1)?.tenantId ?? ''
    if (tenants.length > 0) return !stop.aborted
    const [more, [error]] = [isMoreLeft, errors]
    isMoreLeft = false
    errors = []
    if (error !== undefined) throw error
    return more
  }
}
