import { getEvent } from '../../core/events/get-event.ts'
import { listEvents } from '../../core/events/list-events.ts'
import { EVENT_TYPES, Event, EventQuery, EventSlice } from '../../shapes/event.ts'
import { abortable } from '../../shapes/input.ts'
import * as example from './examples.ts'
import { get, ONE_BODY } from './operation.ts'

export const eventOperations = {
  /**
   * Reads the feed of a tenant, oldest first. Keep `nextCursor`, and go on from there later. `wait`: up to so many seconds
   * for the next event; `signal` ends the wait.
   */
  listEvents: get(
    '/v0/events',
    {
      summary: 'Read the feed of events, oldest first',
      scope: 'events:read',
      needs: ['events', 'prospects', 'prospectLogs', 'webhooks'],
      useCase: listEvents,
      query: EventQuery,
      takes: abortable,
      answer: EventSlice,
      answerBytesMax: ONE_BODY,
      isReadOneByOne: true,
      problems: ['cursor_expired'],
    },
    {
      description: `Returns events in the order of their numbers, one slice at a time. \`data\` is the resource as it is now. Save \`nextCursor\` and pass it as \`cursor\` later: nothing is skipped, even while
others write. Events are recorded while the tenant has an enabled webhook endpoint, or always with \`EVENTS=on\`, and kept for 30 days unless the server sets another time. With \`types\`, a slice looks at no more than 10,000 events: it may be short or empty while \`hasMore\` is true. With \`wait\`, a request that finds no event waits up to that many seconds for one, then returns an empty slice; at most 100 requests of a tenant wait at a time.`,
      done: 'A slice of events.',
      answers: {
        some: {
          summary: 'All that there is now',
          value: {
            items: [example.EVENT, example.erasedEvent],
            hasMore: false,
            nextCursor: example.FEED_CURSOR,
          },
        },
        none: {
          summary: 'Nothing new',
          value: { items: [], hasMore: false, nextCursor: example.FEED_CURSOR },
        },
      },
      fault: { detail: `must be one of ${EVENT_TYPES.join(', ')}`, parameter: 'types' },
    },
  ),
  /** Reads an event with its data as of now. */
  getEvent: get(
    '/v0/events/{event_id}',
    {
      summary: 'Read an event',
      scope: 'events:read',
      needs: ['events', 'prospects', 'prospectLogs', 'webhooks'],
      useCase: getEvent,
      answer: Event,
      answerBytesMax: ONE_BODY,
      problems: ['event_not_found'],
    },
    {
      description: 'Returns an event with its data as it is now.',
      done: 'The event.',
      answers: {
        created: { summary: 'A prospect was created', value: example.EVENT },
        erased: { summary: 'A prospect was erased', value: example.erasedEvent },
      },
    },
  ),
}
