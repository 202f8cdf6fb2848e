import type { EventType } from '../../shapes/event.ts'
import type { ActivityChanges, NewLog } from '../ports/activities.ts'
import type { EventIds, NewEvent, Requester } from '../ports/events.ts'
import type { NewId, Timestamp } from '../ports/world.ts'

type By = Requester & { readonly tenantId: string }
const eventWith = (eventId: string, type: EventType, by: By, about: EventIds, createdAt: Timestamp) => {
  const { tenantId, apiKeyId = null, hops } = by
  const ids = hops ? { ...about, hops } : about
  return { tenantId, eventId, type, ids, apiKeyId, createdAt }
}

/** An event to save with its change. */
export const newEvent = (newId: NewId, type: EventType, by: By, ids: EventIds, createdAt: Timestamp) =>
  eventWith(newId('event'), type, by, ids, createdAt)

/** A one-time event of a resource needs no new id, which costs five times as much. */
const eventIdOf = (id: string): string => `event${id.slice(id.indexOf('_'))}`

/** The event of a logged activity. */
export const eventOfLog = (log: NewLog): NewEvent => {
  const { prospectId, prospectLogId } = log
  const ids = { prospectId, prospectLogId }
  return eventWith(eventIdOf(prospectLogId), 'prospect_log.created', log, ids, log.createdAt)
}

/** The events of a logged list: prospects created, prospects whose blanks were filled, and activities. */
export const eventsOfLogs = (newId: NewId, { prospects, logs }: ActivityChanges): NewEvent[] => {
  const changed = new Set(prospects.map(({ prospectId }) => prospectId))
  return logs.flatMap((log) => {
    const { prospectId, createdProspect, createdAt } = log
    // Once per prospect, with its first activity.
    if (!changed.delete(prospectId)) return eventOfLog(log)
    const about = createdProspect
      ? eventWith(eventIdOf(prospectId), 'prospect.created', log, { prospectId }, createdAt)
      : newEvent(newId, 'prospect.updated', log, { prospectId }, createdAt)
    return [about, eventOfLog(log)]
  })
}
