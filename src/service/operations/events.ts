import { Event, EventQuery, EventSlice } from '../../shapes/event.ts'
import { abortable } from '../../shapes/input.ts'
import { get } from './operation.ts'

export const eventOperations = {
  /**
   * Reads the feed of a tenant, oldest first. Keep `nextCursor`, and go on from there later. `wait`: up to so many seconds
   * for the next event; `signal` ends the wait.
   */
  listEvents: get('/v0/events', {
    summary: 'Read the feed of events, oldest first',
    scope: 'events:read',
    query: EventQuery,
    takes: abortable,
    answer: EventSlice,
    problems: ['cursor_expired'],
  }),
  /** Reads an event with its data as of now. */
  getEvent: get('/v0/events/{event_id}', {
    summary: 'Read an event',
    scope: 'events:read',
    answer: Event,
  }),
}
