import * as v from 'valibot'
import { ITEMS_MAX, limit, wholeText } from './slice.ts'
import { described, documented, id, optional, whole } from './text.ts'
import { timestamp } from './time.ts'

/** The events of a tenant's resources. */
export const EVENT_TYPES = [
  'prospect.created',
  'prospect.updated',
  'prospect.merged',
  'prospect.erased',
  'prospect_log.created',
  'page_group.created',
  'page_group.updated',
  'page_group.deleted',
  'page.created',
  'page.updated',
  'page.deleted',
  'page_version.ready',
  'page_version.scheduled',
  'page_version.published',
  'page_version.skipped',
  'page_version.failed',
  'page.unpublished',
  'webhook_endpoint.disabled',
] as const
/** The type of an event, such as `prospect.created`. */
export type EventType = (typeof EVENT_TYPES)[number]

const type = described(v.picklist(EVENT_TYPES), 'The type of the event.')
const data = described(
  documented(
    v.custom<object>((value) => typeof value === 'object'),
    {
      type: 'object',
      additionalProperties: true,
    },
  ),
  'The resource as a GET of it shows it now, or only its ids if it no longer exists. Over 20 KiB, its payload, content or attributes are omitted and `payloadOmitted` is true.',
)

/** An event as the feed shows it. */
export const Event = v.object({
  eventId: described(id('event'), 'The id of the event; the `webhook-id` of its deliveries.'),
  sequence: described(
    whole(1),
    'The number of the event within the tenant: 1, 2, 3 and so on, without gaps.',
  ),
  type,
  createdAt: described(timestamp(), 'When it happened, in UTC.'),
  apiKeyId: optional(
    v.nullable(id('apikey')),
    'The API key whose request led to it, or null. Absent from `prospect_log.created`.',
  ),
  data,
})
export type Event = v.InferOutput<typeof Event>

/** Query of `GET /v0/events`. */
export const EventQuery = v.object({
  cursor: optional(
    v.string(),
    'The `nextCursor` of the previous slice, or `latest` to start with the next event. Without it the feed starts with the oldest event kept.',
  ),
  limit: v.optional(limit(), '20'),
  types: v.optional(
    v.pipe(
      v.string(),
      v.description('Only events of these types, separated by commas.'),
      v.transform((value) => value.split(',')),
      v.array(v.picklist(EVENT_TYPES)),
    ),
  ),
  wait: v.optional(wholeText(0, 25, 'How many seconds to wait for the next event if none follows now.'), '0'),
})
export type EventQuery = v.InferOutput<typeof EventQuery>

/** Response of `GET /v0/events`. */
export const EventSlice = v.object({
  items: described(v.pipe(v.array(Event), v.maxLength(ITEMS_MAX)), 'Oldest first.'),
  hasMore: described(v.boolean(), 'Whether more events follow now.'),
  nextCursor: described(v.string(), 'Always present: pass it as `cursor` to continue here, now or later.'),
})
export type EventSlice = v.InferOutput<typeof EventSlice>
