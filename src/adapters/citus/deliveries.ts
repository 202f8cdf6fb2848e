import type { DueDelivery, EndpointKey, ShownDelivery, Webhooks } from '../../core/ports/webhooks.ts'
import { latestAttemptAt } from '../../core/webhooks/webhook-attempts.ts'
import { COLUMNS, type EventRow, storedEvent } from '../stores/rows.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import { backlogOf } from './claim.ts'
import { deliver, EVENT } from './events.ts'
import { columns, type Fragment, ifOvertaken, type Query, sql } from './sql.ts'
import { isSuspended } from './tenants.ts'
import { walk } from './walk.ts'

const DELIVERY = columns('l', COLUMNS.webhook_deliveries)

export const matchesId = ({ tenantId, webhookEndpointId }: EndpointKey, alias: Fragment) =>
  sql`${alias}.tenant_id = ${tenantId} and ${alias}.webhook_endpoint_id = ${webhookEndpointId}`
export const D = sql`d`
const L = sql`l`
const WAITING = sql`webhook_deliveries where status = 'pending'
  order by tenant_id, webhook_endpoint_id, next_attempt_at`

type Deliveries = Pick<Webhooks, 'due' | 'deliveries' | 'retry' | 'replay' | 'backlog'>

/** Deliveries to endpoints. Calls `notify` after some became due immediately. */
export const postgresDeliveries = (query: Query, notify: () => void): Deliveries => ({
  due: async ({ now, max, ...lookup }) => {
    const pending = (at: Fragment) => sql`(
      select * from webhook_deliveries d where ${matchesId(lookup, D)} and d.status = 'pending' and d.next_attempt_at ${at}
      order by d.next_attempt_at limit ${max})`
    const rows = await query(lookup.tenantId)<EventRow & Pick<DueDelivery, 'attempts'>>`
      select ${EVENT.selected}, d.attempts
      from (
        ${pending(sql`<= ${now}`)} union all ${pending(sql`> ${latestAttemptAt(now)}`)} limit ${max}
      ) d cross join lateral (
        select * from events e where e.tenant_id = ${lookup.tenantId} and e.event_id = d.event_id limit 1
      ) e
      order by d.next_attempt_at, e.event_id`
    return rows.map((row) => ({ attempts: row.attempts, event: storedEvent(row) }))
  },

  deliveries: async ({ beforeId, limit, status, ...lookup }) => {
    const { rows, resume } = await walk<ShownDelivery>(query, lookup.tenantId, {
      along: sql`
        from webhook_deliveries l where ${matchesId(lookup, L)} and l.event_id < ${beforeId ?? AFTER_ALL_IDS}`,
      key: sql`l.event_id`,
      newest: sql`l.event_id desc`,
      matches: sql`l.status = coalesce(${status}, l.status)`,
      selected: sql`${DELIVERY.selected}, ${typeOf(lookup)}`,
      bytes: sql`octet_length(l.last_error) + octet_length(l.last_attempts::text)`,
      limit,
    })
    return { rows: rows.map(shownDelivery), resume }
  },

  retry: async ({ eventId, now, ...lookup }) => {
    const [row] = await query(lookup.tenantId)<ShownDelivery>`
      with retried as (
        update webhook_deliveries d set status = 'pending', attempts = 0, next_attempt_at = ${now}, delivered_at = null
        where ${matchesId(lookup, D)} and d.event_id = ${eventId}
        returning *
      )
      select ${DELIVERY.selected}, ${typeOf(lookup)} from retried l`
    if (row !== undefined) notify()
    return row === undefined ? null : shownDelivery(row)
  },

  replay: async ({ afterEventId, delivered, now, max, ...lookup }) => {
    const [row] = await query(lookup.tenantId)<{ made: number; looked: number; last: string | null }>`
      with looked as materialized (
        select e.event_id, e.type, e.ids from events e
        where e.tenant_id = ${lookup.tenantId} and e.event_id > ${afterEventId} and e.sequence is not null
        order by e.event_id limit ${max}
      ), made as (
        ${deliver(lookup.tenantId, sql`looked e`, now)} and v.webhook_endpoint_id = ${lookup.webhookEndpointId}
          and v.status = 'enabled'
        order by e.event_id
        on conflict (tenant_id, webhook_endpoint_id, event_id) do update set status = 'pending', attempts = 0,
          next_attempt_at = excluded.next_attempt_at, delivered_at = null
          where d.status <> 'delivered' or ${delivered}::boolean
        returning 1
      )
      select (select count(*)::int from made) as made, count(*)::int as looked, max(event_id) as last from looked
      `.catch(ifOvertaken([]))
    if (row === undefined) return 'overtaken'
    if (row.made > 0) notify()
    return { made: row.made, lastEventId: row.looked === max ? row.last : null }
  },

  backlog: backlogOf(query, sql`created_at`, WAITING, isSuspended),
})

/** A delivery without the columns that a list adds to each row. */
const shownDelivery = ({
  resume: _,
  one: __,
  ...delivery
}: ShownDelivery & { resume?: string | null; one?: number }): ShownDelivery => delivery
const typeOf = ({ tenantId }: EndpointKey) => sql`
  (select e.type from events e where e.tenant_id = ${tenantId} and e.event_id = l.event_id) as type`
