import * as v from 'valibot'
import { boundedText, described, optional, whole } from './text.ts'
import { dateTime, timestamp } from './time.ts'

export const COUNTS_MAX = 10_000

/** Query of `GET /v0/prospect_log_counts`. */
export const ProspectLogCountQuery = v.object({
  of: optional(
    v.picklist(['page', 'source']),
    'Count by page or by source, with the people that the activities came from. The page is the member `pageId` at the top of the payload, if it is the ID of a page of the tenant; a payload of more than 64 KiB names no page.',
  ),
  by: optional(
    v.picklist(['hour', 'day', 'span']),
    'Whole hours (the default) or whole days, in UTC. With `of`: whole days, or their span as a whole (the default).',
  ),
  since: v.optional(
    dateTime(
      'From the hour or day of this time on: an RFC 3339 date-time with an offset. By default 48 hours or 30 days; with `of` at most 31 days.',
    ),
  ),
  until: v.optional(
    dateTime(
      'Up to the end of the hour or day of this time: an RFC 3339 date-time with an offset. By default now.',
    ),
  ),
  source: optional(boundedText(1, 100), 'Return only counts of this source. Not with `of`.'),
  type: optional(boundedText(1, 100), 'Return only counts of this type. Not with `of`.'),
})
export type ProspectLogCountQuery = v.InferOutput<typeof ProspectLogCountQuery>

/** How many activities arrived in an hour, a day or a span of days: of a source and a type, of a page, or of a source. */
export const ProspectLogCount = v.object({
  at: described(timestamp(), 'When the hour, the day or the span begins, in UTC.'),
  pageId: optional(
    v.nullable(v.string()),
    'With `of=page`: the page that their payloads name. Null for what came after the first 1,000 pages of a day.',
  ),
  source: described(
    v.nullable(v.string()),
    'The system that sent them. Null, like the type, for what came after the first 1,000 pairs of source and type or, with `of`, after the first 1,000 sources of a day. Null with `of=page`.',
  ),
  type: described(v.nullable(v.string()), 'The kind of activity. Null with `of`.'),
  count: described(whole(1), 'How many arrived. Erasing, merging and retention do not change it.'),
  prospects: optional(
    v.nullable(whole(0)),
    'With `of`: how many people they came from, each counted once in the day or span. Null beyond the first 1,000 pages or sources of a day.',
  ),
  newProspects: described(whole(0), 'How many of them were the first of a new person.'),
})

/** Response of `GET /v0/prospect_log_counts`. */
export const ProspectLogCounts = v.object({
  items: described(
    v.pipe(v.array(ProspectLogCount), v.maxLength(COUNTS_MAX)),
    'Oldest first. Hours and days in which nothing arrived are left out. With `of`, those with the most people come first within each day or span.',
  ),
  countedUntil: described(
    timestamp(),
    'Activities that arrived before this time are counted, unless they were erased before that: about a minute ago. When the counts of a tenant are first read, counting begins with its first activity.',
  ),
})
export type ProspectLogCounts = v.InferOutput<typeof ProspectLogCounts>
