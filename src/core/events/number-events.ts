import { callHook } from '../engine/outcome.ts'
import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'

/** Tenants in progress at a time, and events of each: the others have their turn soon. */
const TENANTS_MAX = 8
const EVENTS_MAX = 500

type Deps = Omit<Needs<'events'>, 'newId'> & {
  /** Called for each tenant whose turn failed: its next one is in the next round. */
  readonly onError: (error: unknown) => void
}

/**
 * Numbers the events that wait for it, which creates their deliveries. Each call takes one step: tenants with waiting
 * events take turns. It answers whether there may be more. Several processes share the work: the store lets only one of
 * them number the events of a tenant.
 */
export const numberEvents = ({ store: { events }, clock, onError }: Deps) => {
  let lastTenantId = ''
  /** Whether this round numbered any. */
  let isUseful = false

  const numberOf = (tenantId: string): Promise<number> =>
    events.number({ tenantId, now: isoTime(clock()), max: EVENTS_MAX }).catch((error) => {
      callHook(() => onError(error))
      return 0
    })

  return async (stop: AbortSignal): Promise<boolean> => {
    if (stop.aborted) return false
    if (lastTenantId === '') isUseful = false
    const tenantIds = await events.waiting(lastTenantId, TENANTS_MAX)
    lastTenantId = tenantIds[TENANTS_MAX - 1] ?? ''
    const numbered = await Promise.all(tenantIds.map(numberOf))
    isUseful ||= numbered.some((count) => count > 0)
    return isUseful || lastTenantId !== ''
  }
}
