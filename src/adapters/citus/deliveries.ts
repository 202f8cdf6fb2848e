import type { DueDelivery, EndpointKey, ShownDelivery, Webhooks } from '../../core/ports/webhooks.ts'
import { latestAttemptAt } from '../../core/webhooks/webhook-attempts.ts'
import { ifOvertaken } from '../postgres/overtaken.ts'
import { textArray } from '../postgres/sql.ts'
import { COLUMNS, type EventRow, storedEvent } from '../stores/rows.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import { backlogOf } from './claim.ts'
import { EVENT, takes } from './events.ts'
import { columns, type Fragment, type Query, sql } from './sql.ts'
import { isSuspended } from './tenants.ts'
import type { Transact } from './transaction.ts'
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
export const citusDeliveries = (
  query: Query,
  allQuery: Query,
  transact: Transact,
  notify: () => void,
): Deliveries => ({
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

  /** In the order of the events, in which a settlement locks deliveries, too. */
  replay: async ({ tenantId, webhookEndpointId, afterEventId, delivered, now, max }) => {
    const replayed = await transact(tenantId, async (send) => {
      const events = await send<{ eventId: string }>`
        select e.event_id from events e
        where e.tenant_id = ${tenantId} and e.event_id > ${afterEventId} and e.sequence is not null
        order by e.event_id limit ${max}`
      const eventIds = events.map(({ eventId }) => eventId)
      const made = await send`
        insert into webhook_deliveries as d
          (tenant_id, webhook_endpoint_id, event_id, status, attempts, next_attempt_at, created_at)
        select v.tenant_id, v.webhook_endpoint_id, e.event_id, 'pending', 0, ${now}::timestamptz, ${now}::timestamptz
        from webhook_endpoints v join events e on e.tenant_id = v.tenant_id
        where v.tenant_id = ${tenantId} and e.tenant_id = ${tenantId}
          and v.webhook_endpoint_id = ${webhookEndpointId} and v.status = 'enabled'
          and e.event_id = any (${textArray(eventIds)}::text[]) and ${takes(tenantId)}
        order by e.event_id
        on conflict (tenant_id, webhook_endpoint_id, event_id) do update set status = 'pending', attempts = 0,
          next_attempt_at = excluded.next_attempt_at, delivered_at = null
          where d.status <> 'delivered' or ${delivered}::boolean
        returning 1`
      return { made: made.length, lastEventId: (eventIds.length === max && eventIds.at(-1)) || null }
    }).catch(ifOvertaken(null))
    if (replayed === null) return 'overtaken'
    if (replayed.made > 0) notify()
    return replayed
  },

  backlog: backlogOf(allQuery, sql`created_at`, WAITING, isSuspended),
})

const shownDelivery = (row: ShownDelivery): ShownDelivery => ({
  tenantId: row.tenantId,
  webhookEndpointId: row.webhookEndpointId,
  eventId: row.eventId,
  type: row.type,
  status: row.status,
  attempts: row.attempts,
  nextAttemptAt: row.nextAttemptAt,
  lastStatus: row.lastStatus,
  lastError: row.lastError,
  deliveredAt: row.deliveredAt,
  createdAt: row.createdAt,
  lastAttempts: row.lastAttempts,
})
const typeOf = ({ tenantId }: EndpointKey) => sql`
  (select e.type from events e where e.tenant_id = ${tenantId} and e.event_id = l.event_id) as type`
