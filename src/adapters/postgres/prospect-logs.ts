import { asOutcome } from '../../core/engine/outcome.ts'
import { ROWS_SCANNED_MAX, SLICE_BYTES_MAX } from '../../core/engine/slices.ts'
import type {
  FoundTimeline,
  ProspectLogKey,
  ProspectLogs,
  ProspectLogsQuery,
  StoredLog,
  TimelineRowsQuery,
  TimelineSlice,
} from '../../core/ports/prospect-logs.ts'
import type { Scanned } from '../../core/ports/world.ts'
import { type LogRow, SHOWN_LOG, storedLog } from '../stores/rows.ts'
import { AFTER_ALL_IDS, ROWS_SORTED_MAX } from '../stores/take-slice.ts'
import { timelineKey, timeOfKey } from '../stores/timeline-key.ts'
import type { Together } from '../stores/together.ts'
import { numbered, rowsOfEach } from './numbered.ts'
import { columns, type Query } from './sql.ts'

const SHOWN = columns('l', SHOWN_LOG)
const WANT = columns('lookup', 'number int, tenant_id, prospect_log_id')

export const postgresProspectLogs = (query: Query, together: Together): ProspectLogs => ({
  find: together.read('prospectLogs.find', async (lookups: readonly ProspectLogKey[]) => {
    const rows = await query()<LogRow & { readonly number: number }>`
      select lookup.number, ${SHOWN.selected}
      from ${WANT.from(numbered(lookups))}
        join prospect_logs l on l.tenant_id = lookup.tenant_id and l.prospect_log_id = lookup.prospect_log_id`
    return rowsOfEach(lookups, rows).map(([row]) => (row === undefined ? null : storedLog(row)))
  }),

  /** One statement for each, so that each can fail alone; only equal lists share theirs. */
  list: together.read('prospectLogs.list', (lookups: readonly ProspectLogsQuery[]) =>
    Promise.all(
      lookups.map((lookup) =>
        (lookup.idempotencyKey === null ? listNewest : listByKey)(query, lookup).catch(asOutcome),
      ),
    ),
  ),

  /** Timelines, one statement each. */
  timeline: together.read('prospectLogs.timeline', (lookups: readonly TimelineRowsQuery[]) =>
    Promise.all(lookups.map((lookup) => timelineOf(query, lookup).catch(asOutcome))),
  ),

  listOldest: async ({ tenantId, afterId, beforeId, limit }) => {
    const rows = await query(tenantId)<LogRow>`
      select ${SHOWN.selected} from (
        select l.*, sum(octet_length(l.payload::text) + coalesce(octet_length(l.email), 0)) over (
          order by l.prospect_log_id rows between unbounded preceding and 2 preceding
        ) as bytes_before
        from (
          select * from prospect_logs l
          where l.tenant_id = ${tenantId} and l.prospect_log_id > ${afterId} and l.prospect_log_id < ${beforeId}
          order by l.prospect_log_id limit ${limit}
        ) l
      ) l
      where coalesce(l.bytes_before, 0) <= ${SLICE_BYTES_MAX}
      order by l.prospect_log_id`
    return rows.map(storedLog)
  },
})

/**
 * The newest logs that match, until they fill a slice, among the 10,000 newest. If these do not suffice, `resume` is the
 * id of the last of them. It is looked up only then; otherwise no more rows are read than are returned.
 *
 * The limits of these walks are a `select`, whose value the planner does not know: then it assumes that few rows are
 * wanted, and walks along the index. With 10,000 as a constant it would sometimes collect and sort all rows of the tenant.
 */
const listNewest = async (query: Query, lookup: ProspectLogsQuery): Promise<Scanned<StoredLog>> => {
  const { tenantId, source, type, idempotencyKey, limit } = lookup
  const fromId = lookup.fromId ?? ''
  const beforeId = lookup.beforeId ?? AFTER_ALL_IDS
  const rows = await query(tenantId)<LogRow & { readonly resume: string | null }>`
    with found as (
      select * from (
        select * from prospect_logs l
        where l.tenant_id = ${tenantId} and l.prospect_log_id >= ${fromId} and l.prospect_log_id < ${beforeId}
        order by l.prospect_log_id desc limit (select ${ROWS_SCANNED_MAX}::int)
      ) l
      where l.source = coalesce(${source}, l.source) and l.type = coalesce(${type}, l.type)
        and (${idempotencyKey}::text is null or l.idempotency_key = ${idempotencyKey})
      order by l.prospect_log_id desc limit ${limit + 1}
    )
    select ${SHOWN.selected}, stop.resume
    from (
        select case when (select count(*) from found) <= ${limit} then (
          select l.prospect_log_id from prospect_logs l
          where l.tenant_id = ${tenantId} and l.prospect_log_id >= ${fromId} and l.prospect_log_id < ${beforeId}
          order by l.prospect_log_id desc offset (select ${ROWS_SCANNED_MAX - 1}::int) limit 1
        ) end as resume
      ) stop
      left join (
        select l.*, sum(octet_length(l.payload::text) + coalesce(octet_length(l.email), 0)) over (
          order by l.prospect_log_id desc rows between unbounded preceding and 2 preceding
        ) as bytes_before
        from found l
      ) l on coalesce(l.bytes_before, 0) <= ${SLICE_BYTES_MAX}
    order by l.prospect_log_id desc`
  const shown = rows.filter(({ prospectLogId }) => prospectLogId !== null)
  return { rows: shown.map(storedLog), resume: rows[0]?.resume ?? null }
}

/**
 * The logs whose idempotency keys have this text, newest first. Usually there is one, and hardly ever more than a few
 * hundred: so many are sorted, and for more the newest logs of the tenant are searched. The limit keeps the other conditions
 * out of the look-up, so that it uses its whole key.
 */
const listByKey = async (query: Query, lookup: ProspectLogsQuery): Promise<Scanned<StoredLog>> => {
  const { tenantId, source, idempotencyKey, type, limit } = lookup
  const rows = await query(tenantId)<LogRow & { readonly areTooMany: boolean }>`
    with keyed as (
      select * from prospect_logs l
      where l.tenant_id = ${tenantId} and l.source = ${source} and l.idempotency_key = ${idempotencyKey}
      limit (select ${ROWS_SORTED_MAX + 1}::int)
    )
    select ${SHOWN.selected}, keys.are_too_many
    from (select count(*) > ${ROWS_SORTED_MAX} as are_too_many from keyed) keys
      left join (
        select l.*, sum(octet_length(l.payload::text) + coalesce(octet_length(l.email), 0)) over (
          order by l.prospect_log_id desc rows between unbounded preceding and 2 preceding
        ) as bytes_before
        from (
          select * from keyed l
          where l.prospect_log_id >= ${lookup.fromId ?? ''} and l.prospect_log_id < ${lookup.beforeId ?? AFTER_ALL_IDS}
            and l.type = coalesce(${type}, l.type)
          order by l.prospect_log_id desc limit ${limit + 1}
        ) l
      ) l on coalesce(l.bytes_before, 0) <= ${SLICE_BYTES_MAX} and not keys.are_too_many
    order by l.prospect_log_id desc`
  if (rows[0]?.areTooMany) return listNewest(query, lookup)
  return { rows: rows.filter(({ prospectLogId }) => prospectLogId !== null).map(storedLog), resume: null }
}

/** Null in all columns of the log if the prospect has no logs that match. */
type TimelineRow = LogRow &
  Pick<TimelineSlice, 'mergedInto'> & {
    /** Ids, separated by spaces; null if there are none. */
    readonly unmoved: string | null
    readonly erasedAt: string | null
    readonly resume: string | null
  }

/**
 * The same for one prospect, along the index of timelines, whose key is rough: logs of one step of 4 seconds are read
 * together and sorted by their times, and `resume` is the time of a step. Returns a row without a log if the prospect
 * exists but no log matches.
 *
 * The tenant is compared in a `case` so that no other index can be used: a plan made for all tenants would assume that
 * the primary key is selective, and read all logs of a large tenant.
 */
const timelineOf = async (query: Query, lookup: TimelineRowsQuery): Promise<FoundTimeline> => {
  const { tenantId, prospectId, source, type, limit } = lookup
  const since = lookup.since ?? '1970-01-01T00:00:00.000Z'
  const before = lookup.before ?? { occurredAt: '9999-12-31T23:59:59.999Z', prospectLogId: AFTER_ALL_IDS }
  const firstKey = timelineKey(prospectId, since)
  const lastKey = timelineKey(prospectId, before.occurredAt)
  const rows = await query(tenantId)<TimelineRow>`
    with found as (
      select * from (
        select * from prospect_logs l
        where l.timeline_key between ${firstKey} and ${lastKey}
          and case when l.tenant_id = ${tenantId} then l.prospect_id = ${prospectId} end
        order by l.timeline_key desc fetch first (select ${ROWS_SCANNED_MAX}::int) rows with ties
      ) l
      where l.occurred_at >= ${since}
        and (l.occurred_at, l.prospect_log_id) < (${before.occurredAt}, ${before.prospectLogId})
        and l.source = coalesce(${source}, l.source) and l.type = coalesce(${type}, l.type)
      order by l.timeline_key desc fetch first (${limit + 1}) rows with ties
    )
    select ${SHOWN.selected}, p.erased_at, p.merged_into, (
        select string_agg(m.prospect_id, ' ') from merges m
        where m.tenant_id = ${tenantId} and m.into_id = ${prospectId} and m.status = 'processing'
      ) as unmoved, stop.resume
    from prospects p
      cross join (
        select case when (select count(*) from found) <= ${limit} then (
          select l.timeline_key from prospect_logs l
          where l.timeline_key between ${firstKey} and ${lastKey}
            and case when l.tenant_id = ${tenantId} then l.prospect_id = ${prospectId} end
          order by l.timeline_key desc offset (select ${ROWS_SCANNED_MAX - 1}::int) limit 1
        ) end as resume
      ) stop
      left join (
        select l.*, sum(octet_length(l.payload::text) + coalesce(octet_length(l.email), 0)) over (
          order by l.timeline_key desc, l.occurred_at desc, l.prospect_log_id desc
          rows between unbounded preceding and 2 preceding
        ) as bytes_before
        from (
          select * from found l
          order by l.timeline_key desc, l.occurred_at desc, l.prospect_log_id desc limit ${limit + 1}
        ) l
      ) l on coalesce(l.bytes_before, 0) <= ${SLICE_BYTES_MAX}
    where p.tenant_id = ${tenantId} and p.prospect_id = ${prospectId}
    order by l.timeline_key desc, l.occurred_at desc, l.prospect_log_id desc`
  const [first] = rows
  if (first === undefined) return 'prospect_not_found'
  if (first.erasedAt !== null) return 'prospect_erased'
  return {
    rows: rows.filter(({ prospectLogId }) => prospectLogId !== null).map(storedLog),
    resume: first.resume === null ? null : timeOfKey(Number(first.resume)),
    mergedInto: first.mergedInto,
    unmoved: first.unmoved?.split(' ') ?? [],
  }
}
