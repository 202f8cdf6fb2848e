import * as v from 'valibot'
import { boundedText, described, optional, whole } from './text.ts'
import { dateTime, timestamp } from './time.ts'

export const COUNTS_MAX = 10_000

/** Query of `GET /v0/prospect_log_counts`. */
export const ProspectLogCountQuery = v.object({
  by: v.optional(described(v.picklist(['hour', 'day']), 'Whole hours or whole days, in UTC.'), 'hour'),
  since: v.optional(
    dateTime(
      'From the hour or day of this time on: an RFC 3339 date-time with an offset. By default 48 hours or 30 days.',
    ),
  ),
  until: v.optional(
    dateTime(
      'Up to the end of the hour or day of this time: an RFC 3339 date-time with an offset. By default now.',
    ),
  ),
  source: optional(boundedText(1, 100), 'Return only counts of this source.'),
  type: optional(boundedText(1, 100), 'Return only counts of this type.'),
})
export type ProspectLogCountQuery = v.InferOutput<typeof ProspectLogCountQuery>

/** How many activities of a source and a type arrived in an hour or a day. */
export const ProspectLogCount = v.object({
  at: described(timestamp(), 'When the hour or day begins, in UTC.'),
  source: described(
    v.nullable(v.string()),
    'The system that sent them. Null, like the type, for what came after the first 1,000 pairs of source and type.',
  ),
  type: described(v.nullable(v.string()), 'The kind of activity.'),
  count: described(whole(1), 'How many arrived. Erasing and retention do not change it.'),
  newProspects: described(whole(0), 'How many of them were the first of a new person.'),
})

/** Response of `GET /v0/prospect_log_counts`. */
export const ProspectLogCounts = v.object({
  items: described(
    v.pipe(v.array(ProspectLogCount), v.maxLength(COUNTS_MAX)),
    'Oldest first. Hours and days in which nothing arrived are left out.',
  ),
  countedUntil: described(
    timestamp(),
    'Activities that arrived before this time are counted, unless they were erased before that: about a minute ago. When the counts of a tenant are first read, counting begins with its first activity.',
  ),
})
export type ProspectLogCounts = v.InferOutput<typeof ProspectLogCounts>
