import type { EventType } from '../../shapes/event.ts'
import type { ActivityChanges, NewLog } from '../ports/activities.ts'
import type { EventIds, NewEvent, Requester } from '../ports/events.ts'
import type { NewId, Timestamp } from '../ports/world.ts'

/** An event to save with its change. */
export const newEvent = (
  newId: NewId,
  type: EventType,
  { tenantId, apiKeyId }: Requester & { readonly tenantId: string },
  ids: EventIds,
  createdAt: Timestamp,
): NewEvent => ({ tenantId, eventId: newId('event'), type, ids, apiKeyId: apiKeyId ?? null, createdAt })

/** That an activity was logged. */
export const eventOfLog =
  (newId: NewId) =>
  (log: NewLog): NewEvent => {
    const { prospectId, prospectLogId, createdAt } = log
    return newEvent(newId, 'prospect_log.created', log, { prospectId, prospectLogId }, createdAt)
  }

/** What logging a list leads to: prospects created, prospects whose blanks were filled, and activities. */
export const eventsOfLogs = (newId: NewId, { prospects, logs }: ActivityChanges): NewEvent[] => {
  const changed = new Set(prospects.map(({ prospectId }) => prospectId))
  return logs.flatMap((log) => {
    const { prospectId, createdProspect, createdAt } = log
    const type = createdProspect ? 'prospect.created' : 'prospect.updated'
    // Once, with the first activity of each.
    const isFirst = changed.delete(prospectId)
    return [
      ...(isFirst ? [newEvent(newId, type, log, { prospectId }, createdAt)] : []),
      eventOfLog(newId)(log),
    ]
  })
}
