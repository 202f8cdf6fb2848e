import { tenantByTenant } from '../engine/tenant-by-tenant.ts'
import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'

/** Events of a tenant at a time. */
const EVENTS_MAX = 500

type Deps = Omit<Needs<'events'>, 'newId'> & Pick<Parameters<typeof tenantByTenant>[0], 'onError'>

/**
 * Numbers the events that wait for it, which creates their deliveries. Several processes share the work: the store lets
 * only one of them number the events of a tenant.
 */
export const numberEvents = ({ store: { events }, clock, onError, shareLoop }: Deps) =>
  tenantByTenant({
    waiting: events.waiting,
    work: async (tenantId) => (await events.number({ tenantId, now: isoTime(clock()), max: EVENTS_MAX })) > 0,
    onError,
    shareLoop,
  })
