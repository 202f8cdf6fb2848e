import type { Events } from '../../core/ports/events.ts'
import type { Signal } from '../../core/ports/store.ts'
import type { Timestamp } from '../../core/ports/world.ts'
import { COLUMNS, type EventRow, storedEvent } from '../stores/rows.ts'
import { DELIVERIES_MAX } from '../stores/subscribed-endpoints.ts'
import { eachAlong } from './claim.ts'
import { columns, type Fragment, type Query, sql } from './sql.ts'

export const EVENT = columns('e', COLUMNS.events)

/** Pending deliveries of these events `e` to the endpoints `v` of the tenant that take them. */
export const deliver = (tenantId: string, events: Fragment, now: Timestamp) => sql`
  insert into webhook_deliveries as d
    (tenant_id, webhook_endpoint_id, event_id, status, attempts, next_attempt_at, created_at)
  select v.tenant_id, v.webhook_endpoint_id, e.event_id, 'pending', 0, ${now}::timestamptz, ${now}::timestamptz
  from webhook_endpoints v join ${events} on v.types is null or e.type = any (v.types)
  where v.tenant_id = ${tenantId} and ${passes(tenantId)}`
/** Whether an event passes the filters. The log of an activity is only read if there is a filter. */
const passes = (tenantId: string) => sql`
  case when v.sources is null and v.log_types is null or e.type <> 'prospect_log.created' then true else exists (
    select 1 from prospect_logs l where l.tenant_id = ${tenantId} and l.prospect_log_id = e.ids ->> 'prospectLogId'
      and (v.sources is null or l.source in (select json_array_elements_text(v.sources)))
      and (v.log_types is null or l.type in (select json_array_elements_text(v.log_types)))) end`

export const postgresEvents = (query: Query, emit: (signal: Signal) => void): Events => {
  const waiting = sql`events e where e.sequence is null`
  /**
   * The process that changes the count of a tenant assigns the numbers after the count it read. A process that waited
   * for another finds the count changed, and does nothing.
   */
  const number: Events['number'] = async ({ tenantId, now, max }) => {
    const [row] = await query(tenantId)<{ isCounted: boolean; numbered: number; made: number }>`
      with seen as materialized (
        select c.sequence from event_counts c where c.tenant_id = ${tenantId}
      ), waiting as materialized (
        select e.tenant_id, e.event_id, row_number() over (order by e.event_id) as place
        from (
          select e.tenant_id, e.event_id from events e where e.tenant_id = ${tenantId} and e.sequence is null
          order by e.event_id limit (
            select least(${max}, ceil(${DELIVERIES_MAX} / greatest(count(*), 1.0)))::int from webhook_endpoints v
            where v.tenant_id = ${tenantId} and v.status = 'enabled'
          )
        ) e
      ), counted as (
        update event_counts c set sequence = c.sequence + (select count(*) from waiting) from seen
        where c.tenant_id = ${tenantId} and c.sequence = seen.sequence and exists (select 1 from waiting)
        returning seen.sequence
      ), numbered as (
        update events e set sequence = counted.sequence + waiting.place from waiting cross join counted
        where e.tenant_id = waiting.tenant_id and e.event_id = waiting.event_id
          and e.tenant_id = ${tenantId}
        returning e.event_id, e.type, e.ids
      ), made as (
        ${deliver(tenantId, sql`numbered e`, now)} and v.status = 'enabled'
        returning 1
      )
      select exists (select 1 from seen) as is_counted, (select count(*)::int from numbered) as numbered,
        (select count(*)::int from made) as made`
    if (row?.isCounted === false) {
      await query(tenantId)`
        insert into event_counts (tenant_id, sequence) values (${tenantId}, 0) on conflict (tenant_id) do nothing`
      return number({ tenantId, now, max })
    }
    if (row?.numbered) emit(`numbered ${tenantId}`)
    if (row?.made) emit('deliveries')
    return row?.numbered ?? 0
  }

  return {
    /** Goes from tenant to tenant along the index of waiting events. */
    waiting: async (afterTenantId, max) => {
      const rows = await query()<{ tenantId: string }>`
        with recursive ${eachAlong(sql`e.tenant_id`, waiting, afterTenantId)}
        select id as tenant_id from each where id is not null limit ${max}`
      return rows.map(({ tenantId }) => tenantId)
    },

    number,

    list: async ({ tenantId, afterSequence, limit }) => {
      const rows = await query(tenantId)<EventRow & { readonly last: number }>`
        select ${EVENT.selected}, l.last
        from (
          select coalesce((select c.sequence from event_counts c where c.tenant_id = ${tenantId}), 0) as last
        ) l
          left join (
            select * from events e where e.tenant_id = ${tenantId} and e.sequence > ${afterSequence}
            order by e.sequence limit ${limit}
          ) e on true
        order by e.sequence`
      return {
        rows: rows.filter(({ eventId }) => eventId !== null).map(storedEvent),
        last: Number(rows[0]?.last ?? 0),
      }
    },

    find: async ({ tenantId, eventId }) => {
      const [row] = await query(tenantId)<EventRow>`
        select ${EVENT.selected} from events e
        where e.tenant_id = ${tenantId} and e.event_id = ${eventId} and e.sequence is not null`
      return row === undefined ? null : storedEvent(row)
    },

    expire: async ({ tenantId, beforeEventId, max }) => {
      const deliveries = sql`webhook_deliveries d where d.tenant_id = ${tenantId}`
      const [row] = await query(tenantId)<{ most: number }>`
        with recursive ${eachAlong(sql`d.webhook_endpoint_id`, deliveries, '')}, stale as materialized (
          select d.* from each
            cross join lateral (
              select d.tenant_id, d.webhook_endpoint_id, d.event_id from webhook_deliveries d
              where d.tenant_id = ${tenantId} and d.webhook_endpoint_id = each.id and d.event_id < ${beforeEventId}
              order by d.event_id limit ${max}
            ) d
        ), undelivered as (
          delete from webhook_deliveries d using stale
          where d.tenant_id = stale.tenant_id and d.webhook_endpoint_id = stale.webhook_endpoint_id
            and d.event_id = stale.event_id and d.tenant_id = ${tenantId}
        ), old as materialized (
          select e.tenant_id, e.event_id from events e
          where e.tenant_id = ${tenantId} and e.event_id < ${beforeEventId} and e.sequence is not null
          order by e.event_id limit ${max}
        ), deleted as (
          delete from events e using old where e.tenant_id = old.tenant_id and e.event_id = old.event_id
            and e.tenant_id = ${tenantId}
        )
        select greatest((select count(*) from old), (
          select max(count) from (select count(*) from stale group by webhook_endpoint_id) s
        ))::int as most`
      return row?.most === max
    },
  }
}
