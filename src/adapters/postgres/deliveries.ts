import { ROWS_SCANNED_MAX, SLICE_BYTES_MAX } from '../../core/engine/slices.ts'
import type { DueDelivery, ShownDelivery, Webhooks } from '../../core/ports/webhooks.ts'
import type { Backlog } from '../../core/ports/world.ts'
import { ATTEMPTS_KEPT, latestAttemptAt } from '../../core/webhooks/webhook-attempts.ts'
import { COLUMNS, type EventRow, sortedBy, storedEvent } from '../stores/rows.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import { EVENT } from './outbox.ts'
import { ifOvertaken } from './overtaken.ts'
import { columns, type Query } from './sql.ts'

const DELIVERY = columns('d', COLUMNS.webhook_deliveries)
const RESULT = columns(
  'result',
  `tenant_id, webhook_endpoint_id, event_id, status, attempts int, next_attempt_at timestamptz, last_status int,
    last_error, delivered_at timestamptz, attempt`,
)

type Deliveries = Pick<Webhooks, 'due' | 'settle' | 'deliveries' | 'retry' | 'replay' | 'backlog'>

/** Deliveries to endpoints. Calls `notify` after some became due immediately. */
export const postgresDeliveries = (query: Query, notify: () => void): Deliveries => ({
  /** The limit of one makes each look-up of an event use its whole key, whatever the planner assumes of the tenant. */
  due: async ({ tenantId, webhookEndpointId, now, max }) => {
    const rows = await query(tenantId)<EventRow & Pick<DueDelivery, 'attempts'>>`
      select ${EVENT.selected}, d.attempts
      from (
        (
          select * from webhook_deliveries d
          where d.tenant_id = ${tenantId} and d.webhook_endpoint_id = ${webhookEndpointId}
            and d.status = 'pending' and d.next_attempt_at <= ${now}
          order by d.next_attempt_at limit ${max}
        ) union all (
          select * from webhook_deliveries d
          where d.tenant_id = ${tenantId} and d.webhook_endpoint_id = ${webhookEndpointId}
            and d.status = 'pending' and d.next_attempt_at > ${latestAttemptAt(now)}
          order by d.next_attempt_at limit ${max}
        )
        limit ${max}
      ) d
        cross join lateral (
          select * from events e where e.tenant_id = d.tenant_id and e.event_id = d.event_id limit 1
        ) event
      order by d.next_attempt_at, event.event_id`
    return rows.map((row) => ({ attempts: row.attempts, event: storedEvent(row) }))
  },

  settle: async (endpoint, results, { failures, failingSince, lastError, claimableAt, readAt }) => {
    const { tenantId, webhookEndpointId } = endpoint
    // Sorted in the order in which a replay locks them.
    const rows = sortedBy(results, 'eventId').map((result) => ({ ...result, tenantId, webhookEndpointId }))
    const settled = query(tenantId)`
      with changed as (
        update webhook_endpoints v set
          failures = case when v.url = ${endpoint.url} then ${failures}::int else v.failures end,
          failing_since = case when v.url = ${endpoint.url} then ${failingSince}::timestamptz else v.failing_since end,
          last_error = case when v.url = ${endpoint.url} then ${lastError} else v.last_error end,
          claimable_at = coalesce(${claimableAt}, v.claimable_at)
        where v.tenant_id = ${tenantId} and v.webhook_endpoint_id = ${webhookEndpointId}
          and v.claims = ${endpoint.claims}
        returning 1
      ), tried as (
        update webhook_deliveries d set status = result.status, attempts = result.attempts,
          next_attempt_at = result.next_attempt_at, last_status = result.last_status,
          last_error = result.last_error, delivered_at = result.delivered_at,
          last_attempts = case when result.attempt is null then d.last_attempts else (
            select '[' || string_agg(attempts_kept.attempt, ',' order by attempts_kept.n) || ']'
            from (
              select l.attempt::text, l.n from json_array_elements(d.last_attempts) with ordinality l (attempt, n)
              union all
              select result.attempt, json_array_length(d.last_attempts) + 1
            ) attempts_kept
            where attempts_kept.n > json_array_length(d.last_attempts) + 1 - ${ATTEMPTS_KEPT}
          )::json end
        from ${RESULT.from(rows)}
        where d.tenant_id = result.tenant_id and d.webhook_endpoint_id = result.webhook_endpoint_id
          and d.event_id = result.event_id
          and (result.status = 'delivered' or d.next_attempt_at <= ${readAt}
            or d.next_attempt_at > ${latestAttemptAt(readAt)})
          and exists (select 1 from changed)
      )
      select 1 as done from changed`
    return (await settled.catch(ifOvertaken([]))).length > 0
  },

  /**
   * The deliveries that match, until they fill a slice, among the 10,000 newest. If these did not suffice, `resume` is
   * the event of the last one. It is looked up only then; otherwise no more rows are read than are returned.
   *
   * The limit of 10,000 is a `select`, whose value the planner does not know: then it assumes that few rows are wanted,
   * and walks along the index. With a constant it would sometimes collect and sort everything in the index.
   */
  deliveries: async ({ tenantId, webhookEndpointId, status, beforeId, limit }) => {
    const rows = await query(tenantId)<ShownDelivery & { resume: string | null }>`
      with found as (
        select * from (
          select * from webhook_deliveries d
          where d.tenant_id = ${tenantId} and d.webhook_endpoint_id = ${webhookEndpointId}
            and d.event_id < ${beforeId ?? AFTER_ALL_IDS}
          order by d.event_id desc limit (select ${ROWS_SCANNED_MAX}::int)
        ) d
        where d.status = coalesce(${status}, d.status)
        order by d.event_id desc limit ${limit + 1}
      )
      select ${DELIVERY.selected}, stop.resume,
        (select e.type from events e where e.tenant_id = d.tenant_id and e.event_id = d.event_id) as type
      from (
        select case when (select count(*) from found) <= ${limit}::int then (
          select d.event_id from webhook_deliveries d
          where d.tenant_id = ${tenantId} and d.webhook_endpoint_id = ${webhookEndpointId}
            and d.event_id < ${beforeId ?? AFTER_ALL_IDS}
          order by d.event_id desc offset (select ${ROWS_SCANNED_MAX - 1}::int) limit 1
        ) end as resume
      ) stop
        left join (
          select *, sum(coalesce(octet_length(last_error), 0) + octet_length(last_attempts::text)) over (
            order by event_id desc rows between unbounded preceding and 2 preceding
          ) as bytes_before
          from found
        ) d on coalesce(d.bytes_before, 0) <= ${SLICE_BYTES_MAX}
      order by d.event_id desc`
    return {
      rows: rows.filter((row) => row.tenantId !== null).map(({ resume: _, ...delivery }) => delivery),
      resume: rows[0]?.resume ?? null,
    }
  },

  retry: async ({ tenantId, webhookEndpointId, eventId, now }) => {
    const [delivery] = await query(tenantId)<ShownDelivery>`
      update webhook_deliveries d set status = 'pending', attempts = 0, next_attempt_at = ${now}, delivered_at = null
      where d.tenant_id = ${tenantId} and d.webhook_endpoint_id = ${webhookEndpointId} and d.event_id = ${eventId}
      returning ${DELIVERY.selected},
        (select e.type from events e where e.tenant_id = d.tenant_id and e.event_id = d.event_id) as type`
    if (delivery !== undefined) notify()
    return delivery ?? null
  },

  /** An activity is read only for an endpoint that filters by source or type. */
  replay: async ({ tenantId, webhookEndpointId, afterEventId, delivered, now, max }) => {
    const [row] = await query(tenantId)<{ made: number; replayed: number; last: string | null }>`
      with replayed_events as materialized (
        select e.event_id, e.type, e.ids from events e
        where e.tenant_id = ${tenantId} and e.event_id > ${afterEventId} and e.sequence is not null
        order by e.event_id limit ${max}
      ), made as (
        insert into webhook_deliveries as d
          (tenant_id, webhook_endpoint_id, event_id, status, attempts, next_attempt_at, created_at)
        select v.tenant_id, v.webhook_endpoint_id, e.event_id, 'pending', 0, ${now}::timestamptz, ${now}::timestamptz
        from webhook_endpoints v join replayed_events e on v.types is null or e.type = any (v.types)
        where v.tenant_id = ${tenantId} and v.webhook_endpoint_id = ${webhookEndpointId} and v.status = 'enabled' and case
          when v.sources is null and v.log_types is null or e.type <> 'prospect_log.created' then true
          else exists (
            select 1 from prospect_logs l
            where l.tenant_id = v.tenant_id and l.prospect_log_id = e.ids ->> 'prospectLogId'
              and (v.sources is null or l.source in (select json_array_elements_text(v.sources)))
              and (v.log_types is null or l.type in (select json_array_elements_text(v.log_types)))
          ) end
        order by e.event_id
        on conflict (tenant_id, webhook_endpoint_id, event_id) do update set status = 'pending', attempts = 0,
          next_attempt_at = excluded.next_attempt_at, delivered_at = null
          where d.status <> 'delivered' or ${delivered}::boolean
        returning 1
      )
      select (select count(*)::int from made) as made, count(*)::int as replayed, max(event_id) as last
      from replayed_events
      `.catch(ifOvertaken([]))
    if (row === undefined) return 'overtaken'
    if (row.made > 0) notify()
    return { made: row.made, lastEventId: row.replayed === max ? row.last : null }
  },

  /** Reads at most `countMax` entries of the index of pending deliveries. */
  backlog: async (countMax) => {
    const [backlog] = await query()<Backlog>`
      select count(*)::int as count, min(waiting.created_at) as oldest
      from (
        select d.tenant_id, d.created_at from webhook_deliveries d where d.status = 'pending'
        order by d.tenant_id, d.webhook_endpoint_id, d.next_attempt_at limit ${countMax}
      ) waiting
      where not exists (
        select 1 from tenants t where t.tenant_id = waiting.tenant_id and t.suspended_at is not null
      )`
    return backlog ?? { count: 0, oldest: null }
  },
})
