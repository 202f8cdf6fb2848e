import type {
  ProspectLogKey,
  ProspectLogs,
  ProspectLogsQuery,
  StoredLog,
  TimelineRowsQuery,
  TimelineSlice,
} from '../../core/ports/prospect-logs.ts'
import type { ProspectKey } from '../../core/ports/prospects.ts'
import type { Scanned } from '../../core/ports/world.ts'
import { type LogRow, SHOWN_LOG, storedLog } from '../stores/rows.ts'
import { AFTER_ALL_IDS, ROWS_SORTED_MAX } from '../stores/take-slice.ts'
import { timelineKey, timelineOf, timeOfKey } from '../stores/timeline-key.ts'
import type { Together } from '../stores/together.ts'
import { findBy } from './by-tenant.ts'
import { columns, type Query, sql } from './sql.ts'
import { slice, walk } from './walk.ts'

const SHOWN = columns('l', SHOWN_LOG)

export const citusProspectLogs = (query: Query, together: Together): ProspectLogs => {
  return {
    find: together.read(
      'prospectLogs.find',
      findBy<ProspectLogKey, LogRow, StoredLog>(
        query,
        'prospect_logs',
        'prospect_log_id',
        SHOWN_LOG,
        storedLog,
      ),
    ),

    /** Lists logs along the primary key, or those of an idempotency key unless these are too many to be sorted. */
    list: async (lookup) => {
      const { tenantId, limit } = lookup
      const from = lookup.fromId ?? ''
      const before = lookup.beforeId ?? AFTER_ALL_IDS
      const keyed = lookup.idempotencyKey === null ? null : await listByKey(query, lookup)
      if (keyed !== null) return keyed
      const { rows, resume } = await walk<LogRow>(query, tenantId, {
        selected: SHOWN.selected,
        bytes: BYTES,
        limit,
        along: sql`
            from prospect_logs l
            where l.tenant_id = ${tenantId} and l.prospect_log_id >= ${from} and l.prospect_log_id < ${before}`,
        key: sql`l.prospect_log_id`,
        newest: sql`l.prospect_log_id desc`,
        matches: sql`${passesFilter(lookup)} and ${hasKey(lookup)}`,
      })
      return { rows: rows.map(storedLog), resume }
    },

    timeline: async (lookup) => {
      const { tenantId, prospectId, limit } = lookup
      const from = lookup.since ?? '1970-01-01T00:00:00.000Z'
      const end = lookup.before ?? { occurredAt: '9999-12-31T23:59:59.999Z', prospectLogId: AFTER_ALL_IDS }
      const { first, rows, resume } = await walk<TimelineRow>(query, tenantId, {
        selected: SHOWN.selected,
        bytes: BYTES,
        limit,
        along: alongTimeline(lookup, [
          timelineKey(prospectId, from),
          timelineKey(prospectId, end.occurredAt),
        ]),
        key: sql`l.timeline_key`,
        newest: sql`l.timeline_key desc, l.occurred_at desc, l.prospect_log_id desc`,
        matches: sql`
            l.occurred_at >= ${from} and (l.occurred_at, l.prospect_log_id) < (${end.occurredAt}, ${end.prospectLogId})
              and ${passesFilter(lookup)}`,
        owner: sql`(
            select p.erased_at, p.merged_into, (
              select string_agg(m.prospect_id, ' ') from merges m
              where m.tenant_id = ${tenantId} and m.into_id = ${prospectId} and m.status = 'processing'
            ) as unmoved
            from prospects p where p.tenant_id = ${tenantId} and p.prospect_id = ${prospectId}
          ) o`,
      })
      if (first === undefined) return 'prospect_not_found'
      if (first.erasedAt !== null) return 'prospect_erased'
      const { mergedInto } = first
      const unmoved = first.unmoved?.split(' ') ?? []
      const time = resume === null ? null : timeOfKey(Number(resume))
      return { rows: rows.map(storedLog), resume: time, mergedInto, unmoved }
    },

    listOldest: async ({ tenantId, afterId, beforeId, limit }) => {
      const between = sql`
        select * from prospect_logs l
        where l.tenant_id = ${tenantId} and l.prospect_log_id > ${afterId} and l.prospect_log_id < ${beforeId}`
      const rows = await query(tenantId)<LogRow>`
        select ${SHOWN.selected} from ${slice(between, BYTES, sql`l.prospect_log_id`, limit)}
        order by l.prospect_log_id`
      return rows.map(storedLog)
    },
  }
}

/** The logs whose idempotency keys have this text; null if there are too many to be sorted. */
const listByKey = async (query: Query, lookup: ProspectLogsQuery): Promise<Scanned<StoredLog> | null> => {
  const { tenantId, source, idempotencyKey, type, fromId, beforeId, limit } = lookup
  const matching = sql`
    select * from keyed l
    where l.prospect_log_id >= ${fromId ?? ''} and l.prospect_log_id < ${beforeId ?? AFTER_ALL_IDS}
      and l.type = coalesce(${type}, l.type)`
  const rows = await query(tenantId)<LogRow & { readonly areTooMany: boolean }>`
    with keyed as (
      select * from prospect_logs l
      where l.tenant_id = ${tenantId} and l.source = ${source} and l.idempotency_key = ${idempotencyKey}
      limit (select ${ROWS_SORTED_MAX + 1}::int)
    )
    select ${SHOWN.selected}, keys.are_too_many
    from (select count(*) > ${ROWS_SORTED_MAX} as are_too_many from keyed) keys
      left join ${slice(matching, BYTES, sql`l.prospect_log_id desc`, limit + 1)} on not keys.are_too_many
    order by l.prospect_log_id desc`
  if (rows[0]?.areTooMany) return null
  return { rows: rows.filter(({ prospectLogId }) => prospectLogId !== null).map(storedLog), resume: null }
}

/**
 * Logs `l` of a prospect, along the index of timelines. The tenant is compared so that no other index can be used: a
 * plan made for all tenants would assume that the primary key is selective, and read all logs of a large tenant.
 * For limits see `walk`; a limit as a number shows the planner how few rows are joined.
 */
const alongTimeline = (
  { tenantId, prospectId }: ProspectKey,
  [first, last]: ReturnType<typeof timelineOf> = timelineOf(prospectId),
) => sql`
  from prospect_logs l
  where l.timeline_key between ${first}::bigint and ${last}::bigint
    and case when l.tenant_id = ${tenantId} then l.prospect_id = ${prospectId} end
    and l.tenant_id = ${tenantId}`

type TimelineRow = LogRow &
  Pick<TimelineSlice, 'mergedInto'> & {
    readonly erasedAt: string | null
    /** Ids, separated by spaces; null if there are none. */
    readonly unmoved: string | null
  }

const BYTES = sql`octet_length(l.payload::text) + coalesce(octet_length(l.email), 0)`

const passesFilter = ({ source, type }: Pick<TimelineRowsQuery | ProspectLogsQuery, 'source' | 'type'>) =>
  sql`l.source = coalesce(${source}, l.source) and l.type = coalesce(${type}, l.type)`

const hasKey = ({ idempotencyKey }: Pick<ProspectLogsQuery, 'idempotencyKey'>) =>
  sql`(${idempotencyKey}::text is null or l.idempotency_key = ${idempotencyKey})`
