import type { EventType } from '../../shapes/event.ts'
import type { NewLog } from '../ports/activities.ts'
import type { EventIds, NewEvent, Requester } from '../ports/events.ts'
import type { NewId, Timestamp } from '../ports/world.ts'

/** The tenant, and the request that causes an event. */
type Sender = Requester & { readonly tenantId: string }

const eventWith = (
  eventId: string,
  type: EventType,
  sender: Sender,
  about: EventIds,
  createdAt: Timestamp,
) => {
  const { tenantId, apiKeyId = null, hops } = sender
  const ids = hops ? { ...about, hops } : about
  return { tenantId, eventId, type, ids, apiKeyId, createdAt }
}

type EventToSave = {
  readonly type: EventType
  readonly sender: Sender
  readonly ids: EventIds
  readonly createdAt: Timestamp
  /** The id of the new event will be greater than this one. */
  readonly afterEventId?: string
}
/** An event to save with its change. */
export const newEvent = (newId: NewId, { type, sender, ids, createdAt, afterEventId }: EventToSave) =>
  eventWith(newId('event', afterEventId || undefined), type, sender, ids, createdAt)

/** A one-time event of a resource needs no new id, which costs five times as much. */
const eventIdOf = (id: string): string => `event${id.slice(id.indexOf('_'))}`

type Logged = Pick<NewLog, 'tenantId' | 'prospectId' | 'prospectLogId' | 'createdAt'>
/** The event of an activity that was logged. */
export const eventOfLog = (log: Logged & Requester): NewEvent => {
  const { prospectId, prospectLogId, createdAt } = log
  const ids = { prospectId, prospectLogId }
  return eventWith(eventIdOf(prospectLogId), 'prospect_log.created', log, ids, createdAt)
}

/** The events of a logged activity: the activity, and its prospect if it was created. Stores add them. */
export const eventsOfLog = (log: NewLog): NewEvent[] => {
  const { prospectId, createdAt } = log
  const logged = eventOfLog(log)
  if (!log.createdProspect) return [logged]
  return [eventWith(eventIdOf(prospectId), 'prospect.created', log, { prospectId }, createdAt), logged]
}
