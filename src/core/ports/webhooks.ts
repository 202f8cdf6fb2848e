import type { WebhookEndpoint } from '../../shapes/webhook.ts'
import type { WebhookDelivery } from '../../shapes/webhook-delivery.ts'
import type { NewEvent, StoredEvent } from './events.ts'
import type { ClaimQuery } from './versions.ts'
import type { Backlog, Recorded, RowsQuery, Scanned, Timestamp } from './world.ts'

/** Identifies one endpoint. */
export type EndpointKey = { readonly tenantId: string; readonly webhookEndpointId: string }
/** An address to which a tenant's events are sent. */
export type StoredEndpoint = EndpointKey &
  Readonly<Omit<WebhookEndpoint, 'status' | 'sources' | 'logTypes' | 'headers' | 'lastError' | 'body'>> & {
    /** `deleted`: hidden from callers; its deliveries are not all deleted yet. */
    readonly status: WebhookEndpoint['status'] | 'deleted'
    /** Lists as JSON. */
    readonly sources: string | null
    readonly logTypes: string | null
    /** As JSON. */
    readonly lastError: string | null
    /** Sealed headers: see `sealedHeaders`. */
    readonly headers: string | null
    /** The template of its bodies, as JSON. */
    readonly body: string | null
    /** The sealed secret: see `Secrets`. */
    readonly secret: string
    /** Previous secrets, which sign too until then, after rotations: newest first, separated by spaces. */
    readonly previousSecret: string | null
    readonly previousSecretUntil: Timestamp | null
    /** Its slot among the endpoints of its tenant, from 1; null once it is deleted. */
    readonly slot: number | null
    /** The idempotency key of the request that created it, and the sealed hash of that request. */
    readonly idempotencyKey: string | null
    readonly requestHash: string | null
  }
/** An endpoint that a sender has leased. `claims` proves ownership. */
export type ClaimedEndpoint = StoredEndpoint & { readonly claims: number }
/** One event for one endpoint, and its progress. Identified by both. */
export type ShownDelivery = EndpointKey &
  Readonly<Omit<WebhookDelivery, 'lastStatusCode'>> & {
    readonly lastStatus: number | null
    /** The last ten as JSON, oldest first: each a `WebhookAttempt`. */
    readonly lastAttempts: string
  }
/** A delivery as stored. */
export type StoredDelivery = Omit<ShownDelivery, 'type'>
/** A delivery to attempt now. */
export type DueDelivery = Pick<StoredDelivery, 'attempts'> & { readonly event: StoredEvent }
/** The result of an attempt. */
export type DeliveryResult = Omit<StoredDelivery, keyof EndpointKey | 'createdAt' | 'lastAttempts'> & {
  /** The attempt to add to the last ones, as JSON; null if nothing was sent. */
  readonly attempt: string | null
}
/** The effect of attempts on their endpoint. Its failures are not saved if its URL has changed since. */
export type EndpointState = Pick<StoredEndpoint, 'failures' | 'failingSince' | 'lastError'> & {
  /** When it may be claimed again; null: the lease goes on. */
  readonly claimableAt: Timestamp | null
  /** When the deliveries were read. If one was retried since then, only a success may overwrite it. */
  readonly readAt: Timestamp
}

/** A delivery to make due now. */
type DeliveryToRetry = EndpointKey & { readonly eventId: string; readonly now: Timestamp }
/** The events to deliver again. */
export type EventsToReplay = EndpointKey & {
  readonly afterEventId: string
  /** Whether to repeat successful deliveries, too. */
  readonly delivered: boolean
  readonly now: Timestamp
  readonly max: number
}

/** The part of a store that keeps webhook endpoints and deliveries to them. */
export type Webhooks = {
  /** The endpoints of a tenant, oldest first, without deleted ones. They are few enough to search this list for one. */
  list(tenantId: string): Promise<readonly StoredEndpoint[]>
  /** Returns `overtaken` if another endpoint of the tenant has its slot or its idempotency key. */
  add(endpoint: StoredEndpoint): Promise<Recorded>
  /**
   * Saves an endpoint whose `updatedAt` is unchanged, with the event, even if the tenant uses no events; not its
   * failures, which a sender may count at the same time. `resetsFailures` ends them, and if it had any, or was not
   * enabled, it is claimable at once.
   */
  change(
    endpoint: StoredEndpoint,
    lastUpdatedAt: Timestamp,
    also?: { readonly resetsFailures?: boolean; readonly event?: NewEvent },
  ): Promise<Recorded>
  /**
   * Claims endpoints, as `versions.claim` does, that have work: enabled ones with a due delivery, others with a pending
   * delivery, and deleted ones. Walks from tenant to tenant and endpoint to endpoint, never over deliveries.
   */
  claim(query: ClaimQuery): Promise<readonly ClaimedEndpoint[]>
  /** Up to `max` due deliveries of an endpoint, those due longest first, then those after `latestAttemptAt`. */
  due(key: EndpointKey & { readonly now: Timestamp; readonly max: number }): Promise<readonly DueDelivery[]>
  /**
   * Saves the results of attempts and the state of the endpoint; false, and nothing saved, if another sender has
   * claimed it. A success counts even for a delivery that a sweep has failed since: it did arrive.
   */
  settle(
    endpoint: ClaimedEndpoint,
    results: readonly DeliveryResult[],
    state: EndpointState,
  ): Promise<boolean>
  /**
   * For an endpoint that is not enabled: fails up to `max` pending deliveries if it is disabled, deletes up to `max`
   * deliveries if it is deleted, and then, with `isLast`, the endpoint itself. Returns whether there may be more.
   */
  sweep(endpoint: ClaimedEndpoint, error: string, max: number, isLast: boolean): Promise<boolean>
  /** Deliveries of an endpoint, newest event first; of one status, or all. Resumes before an event id. */
  deliveries(
    query: RowsQuery & EndpointKey & { readonly status: StoredDelivery['status'] | null },
  ): Promise<Scanned<ShownDelivery>>
  /** Makes a delivery pending again, due now, with no attempts counted. Returns it, or null if there is none. */
  retry(delivery: DeliveryToRetry): Promise<ShownDelivery | null>
  /**
   * Delivers again to an enabled endpoint: of the first `max` events after an id, those that it takes; a delivery that
   * was successful only if `delivered` is true. One that waits for its next attempt is due now. Returns how many there
   * are, and the last event read; null if that was all. `overtaken`: by a write of the same deliveries.
   */
  replay(
    events: EventsToReplay,
  ): Promise<{ readonly made: number; readonly lastEventId: string | null } | 'overtaken'>
  /** For the metrics: how many deliveries are pending, up to a bound, and since when the oldest of those counted. */
  backlog(countMax: number): Promise<Backlog>
}
