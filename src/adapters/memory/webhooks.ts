import type { NewEvent } from '../../core/ports/events.ts'
import type { EndpointKey, StoredDelivery, StoredEndpoint, Webhooks } from '../../core/ports/webhooks.ts'
import { ATTEMPTS_KEPT, latestAttemptAt } from '../../core/webhooks/webhook-attempts.ts'
import { scan } from '../stores/take-slice.ts'
import { type KeptEndpoint, type Outbox, storedEvent } from './events.ts'
import { compare, type IsActive } from './table.ts'

export const memoryWebhooks = (outbox: Outbox, isActive: IsActive): Webhooks => {
  const { numbered, endpoints, deliveries, written } = outbox
  /** Pending deliveries that are due; without a time, all of them. */
  const dueOf = ({ tenantId, webhookEndpointId }: EndpointKey, now: string | undefined, max: number) => {
    const pending = (after?: string, before?: string) =>
      deliveries.pending.after({ tenantId, webhookEndpointId }, after, before, max)
    return [...pending('', now && `${now}~`), ...(now ? pending(latestAttemptAt(now)) : [])].slice(0, max)
  }
  const hasWork = (endpoint: KeptEndpoint, now: string): boolean =>
    endpoint.status === 'deleted' ||
    dueOf(endpoint, endpoint.status === 'enabled' ? now : undefined, 1).length > 0
  return {
    list: async (tenantId) => {
      const all = endpoints.byId.after({ tenantId })
      return all.filter(({ status }) => status !== 'deleted').map(storedEndpoint)
    },
    add: async (endpoint) => {
      const others = endpoints.byId.after(endpoint).filter(({ slot }) => slot !== null)
      const { idempotencyKey } = endpoint
      if (others.some(({ slot }) => slot === endpoint.slot)) return 'overtaken'
      if (idempotencyKey !== null && others.some((other) => other.idempotencyKey === idempotencyKey))
        return 'overtaken'
      endpoints.add({ ...structuredClone(endpoint), claims: 0, claimableAt: endpoint.createdAt })
      return 'recorded'
    },
    change: async (endpoint, lastUpdatedAt, { resetsFailures, event } = {}) => {
      const before = endpoints.byId.at(endpoint)
      if (before?.updatedAt !== lastUpdatedAt) return 'overtaken'
      if (event) outbox.waiting.add(structuredClone(event))
      const { failures, failingSince, lastError, idempotencyKey, requestHash, ...changed } =
        structuredClone(endpoint)
      const rested = before.failures > 0 || before.status !== 'enabled'
      const calm = resetsFailures && { failures: 0, failingSince: null, lastError: null }
      const claimableAt = resetsFailures && rested ? endpoint.updatedAt : before.claimableAt
      endpoints.change(before, { ...changed, claims: before.claims, ...calm, claimableAt })
      written()
      return 'recorded'
    },
    claim: async ({ now, until, horizon, afterTenantId, max }) =>
      endpoints.byId
        .all()
        .filter(({ tenantId }) => tenantId > afterTenantId)
        .filter(isActive)
        .filter(({ claimableAt }) => claimableAt <= now || claimableAt > horizon)
        .filter((endpoint) => hasWork(endpoint, now))
        .sort((a, b) => compare(a.tenantId, b.tenantId) || compare(a.claimableAt, b.claimableAt))
        .slice(0, max)
        .map((endpoint) => {
          const claims = endpoint.claims + 1
          endpoints.change(endpoint, { claims, claimableAt: until })
          return { ...storedEndpoint(endpoint), claims }
        }),
    due: async ({ now, max, ...lookup }) =>
      dueOf(lookup, now, max).flatMap((delivery) => {
        const event = numbered.byId.at(delivery)
        return event ? { attempts: delivery.attempts, event: storedEvent(event) } : []
      }),
    settle: async ({ tenantId, webhookEndpointId, claims, url }, results, state) => {
      const { claimableAt, readAt, ...counted } = state
      const endpoint = endpoints.byId.at({ tenantId, webhookEndpointId })
      if (endpoint?.claims !== claims) return false
      for (const { attempt, ...result } of results) {
        const delivery = deliveries.byId.at({ tenantId, webhookEndpointId, ...result })
        const at = delivery?.nextAttemptAt
        if (result.status === 'delivered' || (at && (at <= readAt || at > latestAttemptAt(readAt))))
          deliveries.change(delivery, { ...result, lastAttempts: withLast(delivery, attempt) })
      }
      const same = url === endpoint.url && counted
      endpoints.change(endpoint, { ...same, claimableAt: claimableAt ?? endpoint.claimableAt })
      return true
    },
    sweep: async ({ tenantId, webhookEndpointId }, lastError, max, isLast) => {
      const lookup = { tenantId, webhookEndpointId }
      const endpoint = endpoints.byId.at(lookup)
      if (endpoint === undefined || endpoint.status === 'enabled') return false
      const isDeleted = endpoint.status === 'deleted'
      const some = (isDeleted ? deliveries.byId : deliveries.pending).after(lookup, '', undefined, max)
      for (const delivery of some) {
        if (isDeleted) deliveries.remove(delivery)
        else deliveries.change(delivery, { status: 'failed', nextAttemptAt: null, lastError })
      }
      if (isDeleted && isLast && some.length < max) endpoints.remove(endpoint)
      return some.length === max
    },
    deliveries: async ({ tenantId, webhookEndpointId, status, beforeId, limit }) => {
      const rows = deliveries.byId.backFrom({ tenantId, webhookEndpointId }, beforeId)
      const matches = (delivery: StoredDelivery) => (status ?? delivery.status) === delivery.status
      const found = scan(rows, limit, matches, ({ eventId }) => eventId)
      return structuredClone(found)
    },
    retry: async ({ now, ...lookup }) => {
      const delivery = deliveries.byId.at(lookup)
      if (delivery === undefined) return null
      outbox.deliver(delivery, delivery, now)
      written()
      return structuredClone(deliveries.byId.at(lookup) ?? null)
    },
    replay: async ({ afterEventId, delivered, now, max, ...lookup }) => {
      const endpoint = endpoints.byId.at(lookup)
      const events = endpoint ? numbered.byId.after(lookup, afterEventId, undefined, max) : []
      const isKept = ({ eventId }: NewEvent) =>
        !delivered && deliveries.byId.at({ ...lookup, eventId })?.status === 'delivered'
      const endpointsFor = outbox.subscribedEndpoints(endpoint?.status === 'enabled' ? [endpoint] : [])
      const replayed = events.filter((event) => endpointsFor(event).length > 0 && !isKept(event))
      for (const event of replayed) outbox.deliver(lookup, event, now)
      written()
      return { made: replayed.length, lastEventId: (events.length === max && events.at(-1)?.eventId) || null }
    },
    backlog: async (countMax) => {
      const times = deliveries.pending
        .all()
        .filter(isActive)
        .map(({ createdAt }) => createdAt)
      return { count: Math.min(times.length, countMax), oldest: times.sort()[0] ?? null }
    },
  }
}

const withLast = (delivery: StoredDelivery | undefined, attempt: string | null): string => {
  const attempts: unknown[] = JSON.parse(delivery?.lastAttempts ?? '[]')
  if (attempt !== null) attempts.push(JSON.parse(attempt))
  return JSON.stringify(attempts.slice(-ATTEMPTS_KEPT))
}
const storedEndpoint = ({ claims, claimableAt, ...endpoint }: KeptEndpoint): StoredEndpoint =>
  structuredClone(endpoint)
