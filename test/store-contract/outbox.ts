import type { ClaimQuery, NewEvent, Store, StoredEndpoint } from 'prospect-pages/store'
import { same } from './assertions.ts'
import { addTenant, at, someClaim, someEndpoint, someEvent, someGroup } from './rows.ts'

/** A tenant, its events and its webhook endpoints. */
export const outboxOf = async (store: Store) => {
  const tenant = await addTenant(store)
  const { tenantId } = tenant
  let slot = 0
  const outbox = {
    tenant,
    tenantId,
    addEndpoint: async (fields: Partial<StoredEndpoint> = {}) => {
      const endpoint = someEndpoint(tenantId, { slot: ++slot, ...fields })
      same(await store.webhooks.add(endpoint), 'recorded')
      return endpoint
    },
    /** Changes an endpoint as it is now; answers how it is then. */
    changeEndpoint: async (
      { webhookEndpointId }: { webhookEndpointId: string },
      fields: Partial<StoredEndpoint>,
      resetsFailures = false,
    ) => {
      const before = (await findEndpoint(store, { tenantId, webhookEndpointId })) as StoredEndpoint
      const updatedAt = new Date(Date.parse(before.updatedAt) + 1).toISOString()
      const after: StoredEndpoint = { ...before, updatedAt, ...fields }
      same(await store.webhooks.change(after, before.updatedAt, { resetsFailures }), 'recorded')
      return after
    },
    /** Makes a change that has these events. */
    write: async (...events: readonly NewEvent[]) => {
      same(await store.pageGroups.add(someGroup(tenant), events), 'recorded')
      return events
    },
    number: (max = 100, ms = 0) => store.events.number({ tenantId, now: at(ms), max }),
    /** Saves and numbers so many events. */
    addEvents: async (count: number, fields: Partial<NewEvent> = {}): Promise<string[]> => {
      const events = Array.from({ length: count }, () => someEvent(tenantId, fields))
      await outbox.write(...events)
      await outbox.number(count)
      return events.map(({ eventId }) => eventId)
    },
    read: async (afterSequence = 0, limit = 100) =>
      (await store.events.list({ tenantId, afterSequence, limit })).rows,
    claim: (ms: number, fields: Partial<ClaimQuery> = {}, by = store) =>
      by.webhooks.claim(someClaim({ now: at(ms), until: at(ms + 1_000), ...fields })),
    dueAt: async (endpoint: StoredEndpoint, ms: number, max = 100) =>
      (await store.webhooks.due({ ...namesOf(endpoint), now: at(ms), max })).map(
        ({ event }) => event.eventId,
      ),
    /** The event and the status of each delivery, newest event first. */
    deliveriesOf: async (endpoint: StoredEndpoint) => {
      const all = { ...namesOf(endpoint), status: null, beforeId: null, limit: 1_000 }
      return (await store.webhooks.deliveries(all)).rows.map(({ eventId, status }) => [eventId, status])
    },
  }
  return outbox
}

/** An endpoint as it is now; null if it is deleted. */
export const findEndpoint = async (
  { webhooks }: Pick<Store, 'webhooks'>,
  { tenantId, webhookEndpointId }: Pick<StoredEndpoint, 'tenantId' | 'webhookEndpointId'>,
): Promise<StoredEndpoint | null> =>
  (await webhooks.list(tenantId)).find((found) => found.webhookEndpointId === webhookEndpointId) ?? null

export const namesOf = ({ tenantId, webhookEndpointId }: StoredEndpoint) => ({ tenantId, webhookEndpointId })
export const DELETED = { status: 'deleted', slot: null } as const
