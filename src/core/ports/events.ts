import type { EventType } from '../../shapes/event.ts'
import type { Timestamp } from './world.ts'

/** The ids of the resource of an event. */
export type EventIds = Readonly<
  Partial<
    Record<
      | 'prospectId'
      | 'intoProspectId'
      | 'prospectLogId'
      | 'pageGroupId'
      | 'pageId'
      | 'versionId'
      | 'webhookEndpointId',
      string
    >
  > & {
    /** Not an id, and never shown: how many webhooks led to the event, one after another. Absent: none. */
    hops?: number
  }
>
/** The sender of the request behind events. Work in the background has no API key. `hops`: see `EventIds`. */
export type Requester = {
  readonly apiKeyId?: string | null | undefined
  readonly hops?: number | undefined
}
/**
 * An event to save with its change, or neither. A store saves it only if its tenant uses events, which it decides
 * within that write: a tenant with an enabled webhook endpoint, or every tenant if so configured. It has ids only, no
 * personal data: its data is read when shown.
 */
export type NewEvent = {
  readonly tenantId: string
  readonly eventId: string
  readonly type: EventType
  readonly ids: EventIds
  /** The API key of the request that led to it, if there was one. */
  readonly apiKeyId: string | null
  readonly createdAt: Timestamp
}
/** An event with its number: 1, 2, 3 … for each tenant, without gaps. */
export type StoredEvent = NewEvent & { readonly sequence: number }
/** The part of a store that numbers events and shows them. */
export type Events = {
  /** Tenants with unnumbered events: at most `max`, the first after this id. */
  waiting(afterTenantId: string, max: number): Promise<readonly string[]>
  /**
   * Numbers up to `max` waiting events of a tenant in the order of their ids, or fewer if it has many enabled endpoints
   * (see `eventsAtOnce`), and adds a pending delivery of each for every enabled endpoint that takes it: an endpoint
   * chooses types of events, and sources and types of activities. Numbers become visible in order: a reader that sees
   * number n can read all before it. Returns how many it numbered: none if another process was faster.
   */
  number(query: { readonly tenantId: string; readonly now: Timestamp; readonly max: number }): Promise<number>
  /** Numbered events after a number, oldest first, and the last number given so far (0: none). */
  list(query: {
    readonly tenantId: string
    readonly afterSequence: number
    readonly limit: number
  }): Promise<{ readonly rows: readonly StoredEvent[]; readonly last: number }>
  /** A numbered event. */
  find(query: { readonly tenantId: string; readonly eventId: string }): Promise<StoredEvent | null>
  /**
   * Deletes up to `max` of the oldest numbered events of a tenant, and of the deliveries of each endpoint, whose event ids
   * are lower than this one. Returns whether there may be more.
   */
  expire(query: {
    readonly tenantId: string
    readonly beforeEventId: string
    readonly max: number
  }): Promise<boolean>
}
