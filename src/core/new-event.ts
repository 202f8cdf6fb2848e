import type { EventType } from '../shapes/event.ts'
import type { EventIds, NewEvent, Requester } from './ports/events.ts'
import type { NewId, Timestamp } from './ports/world.ts'

/** An event to save with its change. */
export const newEvent = (
  newId: NewId,
  type: EventType,
  { tenantId, apiKeyId }: Requester & { readonly tenantId: string },
  ids: EventIds,
  createdAt: Timestamp,
): NewEvent => ({ tenantId, eventId: newId('event'), type, ids, apiKeyId: apiKeyId ?? null, createdAt })
