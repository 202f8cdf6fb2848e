import { memoized } from '../../core/engine/memoized.ts'
import type { NewLog } from '../../core/ports/activities.ts'
import type { Events, NewEvent, StoredEvent } from '../../core/ports/events.ts'
import type { Signal } from '../../core/ports/store.ts'
import type { ClaimedEndpoint, EndpointKey, ShownDelivery } from '../../core/ports/webhooks.ts'
import { eventsAtOnce, subscribedAmong } from '../stores/subscribed-endpoints.ts'
import { indexBy, type RegisterTable, tableOf } from './table.ts'

export type KeptEndpoint = ClaimedEndpoint & { readonly claimableAt: string }
/** `place` is the sequence as a text that sorts as the number does. */
type KeptEvent = StoredEvent & { readonly place: string }
export type Outbox = ReturnType<typeof memoryOutbox>

type LogOf = (lookup: { readonly tenantId: string } & NewEvent['ids']) => NewLog | undefined
/** Events, webhook endpoints and deliveries. */
export const memoryOutbox = (
  everyEvent: boolean,
  emit: (...signals: Signal[]) => void,
  registerTable: RegisterTable,
  logOf: LogOf,
) => {
  const waiting = registerTable('events', tableOf({ byId: indexBy<NewEvent>(['tenantId'], ['eventId']) }))
  const numbered = registerTable(
    'events',
    tableOf({
      byId: indexBy<KeptEvent>(['tenantId'], ['eventId']),
      inOrder: indexBy<KeptEvent>(['tenantId'], ['place']),
    }),
  )
  const endpoints = registerTable(
    'webhook_endpoints',
    tableOf({ byId: indexBy<KeptEndpoint>(['tenantId'], ['webhookEndpointId']) }),
  )
  const deliveries = registerTable(
    'webhook_deliveries',
    tableOf({
      byId: indexBy<ShownDelivery>(['tenantId', 'webhookEndpointId'], ['eventId']),
      pending: indexBy<ShownDelivery>(['tenantId', 'webhookEndpointId'], ['nextAttemptAt', 'eventId']),
    }),
  )
  const enabledOf = (tenantId: string) =>
    endpoints.byId.after({ tenantId }).filter(({ status }) => status === 'enabled')

  /** Saves the events of a change. Called just before it: if it throws, neither is saved. */
  const save = (events: readonly NewEvent[] = []): void => {
    const usesEvents = memoized((tenantId: string) => everyEvent || enabledOf(tenantId).length > 0)
    const saved = events.filter(({ tenantId }) => usesEvents(tenantId))
    structuredClone(saved).forEach(waiting.add)
    if (saved.length > 0) queueMicrotask(() => emit('events'))
  }
  /** Makes a delivery pending, as if it were new. */
  const deliver = (
    { webhookEndpointId }: EndpointKey,
    { tenantId, eventId, type }: Pick<NewEvent, 'tenantId' | 'eventId' | 'type'>,
    now: string,
  ) => {
    const names = { tenantId, webhookEndpointId, eventId }
    const due = { status: 'pending', attempts: 0, nextAttemptAt: now, deliveredAt: null } as const
    const blank = { ...due, type, lastStatus: null, lastError: null, createdAt: now, lastAttempts: '[]' }
    if (!deliveries.change(deliveries.byId.at(names), due)) deliveries.add({ ...names, ...blank })
  }
  const subscribedEndpoints = (among: readonly KeptEndpoint[]) =>
    subscribedAmong(among, ({ tenantId, ids }) => logOf({ tenantId, ...ids }))
  /** Call it after deliveries became due, maybe by a change with an event. */
  const written = () => emit('events', 'deliveries')
  return {
    waiting,
    numbered,
    endpoints,
    deliveries,
    enabledOf,
    save,
    deliver,
    subscribedEndpoints,
    written,
    emit,
    registerTable,
  }
}

export const memoryEvents = (outbox: Outbox): Events => {
  const { waiting, numbered, endpoints, deliveries } = outbox
  const counts = new Map<string, number>()
  return {
    waiting: async (afterTenantId, max) => {
      const tenants = new Set(waiting.byId.all().map(({ tenantId }) => tenantId))
      const later = [...tenants].filter((tenantId) => tenantId > afterTenantId)
      return later.sort().slice(0, max)
    },
    number: async ({ tenantId, now, max }) => {
      const enabled = outbox.enabledOf(tenantId)
      const endpointsFor = outbox.subscribedEndpoints(enabled)
      const events = waiting.byId.after({ tenantId }, '', undefined, eventsAtOnce(enabled.length, max))
      for (const event of events) {
        const sequence = (counts.get(tenantId) ?? 0) + 1
        counts.set(tenantId, sequence)
        waiting.remove(event)
        numbered.add({ ...event, sequence, place: placeOf(sequence) })
        const subscribed = endpointsFor(event)
        for (const endpoint of subscribed) outbox.deliver(endpoint, event, now)
        if (subscribed.length > 0) outbox.emit('deliveries')
      }
      if (events.length > 0) outbox.emit(`numbered ${tenantId}`)
      return events.length
    },
    list: async ({ tenantId, afterSequence, limit: max }) => ({
      rows: numbered.inOrder.after({ tenantId }, placeOf(afterSequence), undefined, max).map(storedEvent),
      last: counts.get(tenantId) ?? 0,
    }),
    find: async (lookup) => {
      const event = numbered.byId.at(lookup)
      return event ? storedEvent(event) : null
    },
    expire: async ({ tenantId, beforeEventId, max }) => {
      const events = numbered.byId.after({ tenantId }, '', beforeEventId, max)
      events.forEach(numbered.remove)
      const lists = endpoints.byId.after({ tenantId }).map(({ webhookEndpointId }) => {
        return deliveries.byId.after({ tenantId, webhookEndpointId }, '', beforeEventId, max)
      })
      lists.flat().forEach(deliveries.remove)
      return [events, ...lists].some(({ length }) => length === max)
    },
  }
}

const placeOf = (sequence: number): string => `${sequence}`.padStart(16, '0')
export const storedEvent = ({ place, ...event }: KeptEvent): StoredEvent => structuredClone(event)
