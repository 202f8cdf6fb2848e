import type postgres from 'postgres'
import { asOutcome } from '../../core/outcome.ts'
import type {
  FoundTimeline,
  ProspectLogs,
  ProspectLogsWant,
  TimelineWant,
} from '../../core/ports/prospect-logs.ts'
import { SLICE_BYTES_MAX } from '../../core/slices.ts'
import { AFTER_ALL_IDS, type LogRow, SHOWN_LOG, storedLog } from '../rows.ts'
import { timelineKey, timeOfKey } from '../timeline-key.ts'
import { byTenant, upTo, wantedTenant } from './by-tenant.ts'
import type { Ask } from './connect.ts'
import type { Sql } from './open.ts'
import { columns } from './statements.ts'
import { walked, weighed } from './walk.ts'

const SHOWN = columns('l', SHOWN_LOG)
const WANTS = columns('want', 'number int, tenant_id, prospect_log_id')
type Fragment = postgres.Fragment
type Filter = Pick<TimelineWant, 'source' | 'type'>
type Listed = LogRow & { readonly resume: string | null }
type TimelineRow = Listed & { readonly erasedAt: string | null }

export const postgresProspectLogs = (ask: Ask, isCluster: boolean): ProspectLogs => ({
  find: async (wants) => {
    const numbered = wants.map((want, number) => ({ ...want, number }))
    const rows = await byTenant(isCluster, { numbered }, (tenantId, its) =>
      ask(
        (sql) => sql<(LogRow & { number: number })[]>`
          select want.number, ${SHOWN.selected(sql)}
          from ${WANTS.from(sql, its.numbered)}
            cross join lateral (
              select l.* from prospect_logs l
              where l.tenant_id = ${wantedTenant(sql, tenantId)} and l.prospect_log_id = want.prospect_log_id
                ${upTo(1, sql, tenantId)}
            ) l`,
        tenantId,
      ),
    )
    const found = new Map(rows.map((row) => [row.number, storedLog(row)]))
    return wants.map((_, number) => found.get(number) ?? null)
  },

  list: (wants) =>
    Promise.all(
      wants.map((want) =>
        ask((sql) => sql<Listed[]>`${listed(sql, want)}`, want.tenantId).then(
          (rows) => ({ rows: logsOf(rows), resume: rows[0]?.resume ?? null }),
          asOutcome,
        ),
      ),
    ),

  timeline: (wants) =>
    Promise.all(
      wants.map((want) =>
        ask((sql) => sql<TimelineRow[]>`${timeline(sql, want, isCluster)}`, want.tenantId).then(
          timelineOf,
          asOutcome,
        ),
      ),
    ),

  listOldest: async ({ tenantId, afterId, beforeId, limit }) => {
    const between = (sql: Sql) => sql`
      select * from prospect_logs l
      where l.tenant_id = ${tenantId} and l.prospect_log_id > ${afterId} and l.prospect_log_id < ${beforeId}`
    const rows = await ask(
      (sql) => sql<LogRow[]>`
        select ${SHOWN.selected(sql)}
        from ${weighed(sql, between(sql), bytesOf(sql), sql`l.prospect_log_id`, limit)}
        where coalesce(l.bytes_before, 0) <= ${SLICE_BYTES_MAX}
        order by l.prospect_log_id`,
      tenantId,
    )
    return rows.map(storedLog)
  },
})

const timelineOf = (rows: readonly TimelineRow[]): FoundTimeline => {
  const [first] = rows
  if (first === undefined) return 'prospect_not_found'
  if (first.erasedAt !== null) return 'prospect_erased'
  return { rows: logsOf(rows), resume: first.resume === null ? null : timeOfKey(Number(first.resume)) }
}

const logsOf = (rows: readonly Listed[]) =>
  rows.filter(({ prospectLogId }) => prospectLogId !== null).map(storedLog)

/** Along the primary key, or by the key of one log. */
const listed = (sql: Sql, want: ProspectLogsWant): Fragment => {
  const { tenantId, source, idempotencyKey, fromId, beforeId } = want
  const ofTenant = sql`from prospect_logs l where l.tenant_id = ${tenantId}`
  const between = sql`l.prospect_log_id >= ${fromId ?? ''} and l.prospect_log_id < ${beforeId ?? AFTER_ALL_IDS}`
  if (idempotencyKey !== null)
    return sql`
      select ${SHOWN.selected(sql)}, null as resume ${ofTenant} and l.source = ${source}
        and l.idempotency_key = ${idempotencyKey} and ${between} and ${passes(sql, want)}`
  return walked(sql, {
    ...parts(sql, want),
    along: sql`${ofTenant} and ${between}`,
    key: sql`l.prospect_log_id`,
    newest: sql`l.prospect_log_id desc`,
    matches: passes(sql, want),
  })
}

/**
 * Along the index of timelines. The tenant is compared so that no other index can be used: a plan that is made for all
 * tenants would take the primary key for selective, and read all logs of a large tenant. Citus needs it plain as well.
 */
const timeline = (sql: Sql, want: TimelineWant, isCluster: boolean) => {
  const { tenantId, prospectId, since, before } = want
  const from = since ?? '1970-01-01T00:00:00.000Z'
  const end = before ?? { occurredAt: '9999-12-31T23:59:59.999Z', prospectLogId: AFTER_ALL_IDS }
  return walked(sql, {
    ...parts(sql, want),
    along: sql`
      from prospect_logs l
      where l.timeline_key between ${timelineKey(prospectId, from)}::bigint
          and ${timelineKey(prospectId, end.occurredAt)}::bigint
        and case when l.tenant_id = ${tenantId} then l.prospect_id = ${prospectId} end
        ${isCluster ? sql`and l.tenant_id = ${tenantId}` : sql``}`,
    key: sql`l.timeline_key`,
    newest: sql`l.timeline_key desc, l.occurred_at desc, l.prospect_log_id desc`,
    matches: sql`
      l.occurred_at >= ${from} and (l.occurred_at, l.prospect_log_id) < (${end.occurredAt}, ${end.prospectLogId})
        and ${passes(sql, want)}`,
    owner: sql`(
      select p.erased_at from prospects p where p.tenant_id = ${tenantId} and p.prospect_id = ${prospectId}
    ) o`,
  })
}

const parts = (sql: Sql, { limit }: { readonly limit: number }) => ({
  selected: SHOWN.selected(sql),
  bytes: bytesOf(sql),
  limit,
})

const bytesOf = (sql: Sql) => sql`octet_length(l.payload::text) + coalesce(octet_length(l.email), 0)`

const passes = (sql: Sql, { source, type }: Filter) =>
  sql`l.source = coalesce(${source}, l.source) and l.type = coalesce(${type}, l.type)`
