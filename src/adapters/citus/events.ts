import type { Events } from '../../core/ports/events.ts'
import type { Signal } from '../../core/ports/store.ts'
import { type Piece, piece, textArray } from '../postgres/sql.ts'
import { COLUMNS, type EventRow, storedEvent } from '../stores/rows.ts'
import { DELIVERIES_MAX } from '../stores/subscribed-endpoints.ts'
import { eachAlong } from './claim.ts'
import { columns, type Query, sql } from './sql.ts'
import type { Send, Transact } from './transaction.ts'

export const EVENT = columns('e', COLUMNS.events)

/** Whether endpoint `v` takes event `e`. The log of an activity is only read if there is a filter. */
export const takes = (tenantId: string): Piece => piece`
  (v.types is null or e.type = any (v.types)) and
  case when v.sources is null and v.log_types is null or e.type <> 'prospect_log.created' then true else exists (
    select 1 from prospect_logs l where l.tenant_id = ${tenantId} and l.prospect_log_id = e.ids ->> 'prospectLogId'
      and (v.sources is null or l.source in (select json_array_elements_text(v.sources)))
      and (v.log_types is null or l.type in (select json_array_elements_text(v.log_types)))) end`

export const citusEvents = (
  query: Query,
  transact: Transact,
  emit: (signal: Signal) => void,
): Omit<Events, 'waiting'> => {
  const number: Events['number'] = async ({ tenantId, now, max }) => {
    const { numbered, made } = await transact(tenantId, async (send) => {
      // A tenant gets a count with its first events.
      send`
        insert into event_counts (tenant_id, sequence) values (${tenantId}, 0) on conflict (tenant_id) do nothing`
      const eventIds = await numberEvents(send, tenantId, max)
      if (eventIds.length === 0) return { numbered: 0, made: 0 }
      const made = await send`
        insert into webhook_deliveries
          (tenant_id, webhook_endpoint_id, event_id, status, attempts, next_attempt_at, created_at)
        select v.tenant_id, v.webhook_endpoint_id, e.event_id, 'pending', 0, ${now}::timestamptz, ${now}::timestamptz
        from webhook_endpoints v join events e on e.tenant_id = v.tenant_id
        where v.tenant_id = ${tenantId} and e.tenant_id = ${tenantId} and v.status = 'enabled'
          and e.event_id = any (${textArray(eventIds)}::text[]) and ${takes(tenantId)}
        returning 1`
      return { numbered: eventIds.length, made: made.length }
    })
    if (numbered > 0) emit(`numbered ${tenantId}`)
    if (made > 0) emit('deliveries')
    return numbered
  }

  return {
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

/**
 * Gives the waiting events of a tenant the numbers after its count. If another process has changed the count meanwhile, it
 * numbers none.
 */
const numberEvents = async (send: Send, tenantId: string, max: number): Promise<readonly string[]> => {
  const rows = await send<{ eventId: string }>`
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
    )
    update events e set sequence = counted.sequence + waiting.place from waiting cross join counted
    where e.tenant_id = waiting.tenant_id and e.event_id = waiting.event_id and e.tenant_id = ${tenantId}
    returning e.event_id`
  return rows.map(({ eventId }) => eventId)
}
