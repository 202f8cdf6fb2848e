import type { Event } from '../../shapes/event.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import type { StoredEvent } from '../ports/events.ts'
import type { Needs } from '../ports/store.ts'
import type { EventData } from './event-data.ts'

type Deps = Pick<Needs<'events'>, 'store'> & { readonly dataOf: EventData }
type EventRead = { readonly tenantId: string; readonly eventId: string }

/** Reads one event. Refuses `event_not_found`. */
export const getEvent =
  ({ store, dataOf }: Deps) =>
  async ({ tenantId, eventId }: EventRead): Promise<Result<Event>> => {
    const event = await store.events.find({ tenantId, eventId })
    return { value: await eventOf(dataOf)(event ?? refuse('event_not_found', 'Event not found.')) }
  }

/** The event that callers see. */
export const eventOf =
  (dataOf: EventData) =>
  async (event: StoredEvent): Promise<Event> => ({
    eventId: event.eventId,
    sequence: event.sequence,
    type: event.type,
    createdAt: event.createdAt,
    ...(event.type !== 'prospect_log.created' && { apiKeyId: event.apiKeyId }),
    data: await dataOf(event),
  })
