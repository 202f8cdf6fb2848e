import type { ClaimQuery } from '../../core/ports/versions.ts'
import type { ClaimedEndpoint, StoredEndpoint, Webhooks } from '../../core/ports/webhooks.ts'
import { ATTEMPTS_KEPT, latestAttemptAt } from '../../core/webhooks/webhook-attempts.ts'
import { ifOvertaken, unlessOvertaken } from '../postgres/overtaken.ts'
import { columns as jsonColumns } from '../postgres/sql.ts'
import { COLUMNS, sortedBy, without } from '../stores/rows.ts'
import { citusDeliveries, D, matchesId } from './deliveries.ts'
import type { Outbox } from './outbox.ts'
import { columns, type Fragment, nothing, type Query, sql, textArray } from './sql.ts'
import { isSuspended } from './tenants.ts'
import type { Transact } from './transaction.ts'

/** A row with the types as one text, `{a,b}`. */
export type EndpointRow = Omit<ClaimedEndpoint, 'types'> & { readonly types: string | null }

const KEPT = without(COLUMNS.webhook_endpoints, 'claims', 'claimable_at')
const ENDPOINT = columns('v', COLUMNS.webhook_endpoints)
const STORED = columns('v', KEPT)
const IDS = ['tenant_id', 'webhook_endpoint_id', 'created_at']
const CHANGE = jsonColumns(
  'change',
  without(KEPT, ...IDS, 'failures', 'failing_since', 'last_error', 'idempotency_key', 'request_hash'),
)
const RESULT = columns(
  'r',
  `tenant_id, webhook_endpoint_id, event_id, status, attempts int, next_attempt_at timestamptz, last_status int, last_error,
    delivered_at timestamptz, attempt json`,
)

const endpointRow = (endpoint: StoredEndpoint) => ({
  ...endpoint,
  types: endpoint.types && textArray(endpoint.types),
})
export const storedEndpoint = <Row extends Omit<EndpointRow, 'claims'>>(row: Row) => ({
  ...row,
  types: row.types === null ? null : (row.types.match(/[^{},]+/g) as unknown as StoredEndpoint['types']),
})

const V = sql`v`
const V_TENANT = sql`v.tenant_id`

/** Deliveries of enabled endpoints wait until they are due. */
const isClaimable = (
  { now, horizon }: ClaimQuery,
  ofTenants: (tenantIdColumn: Fragment) => Fragment = () => nothing,
) => {
  const isPending = (at: Fragment) => sql`exists (
    select 1 from webhook_deliveries d
    where d.tenant_id = v.tenant_id ${ofTenants(sql`d.tenant_id`)}
      and d.webhook_endpoint_id = v.webhook_endpoint_id and d.status = 'pending' and d.next_attempt_at ${at})`
  return sql`
    (v.claimable_at <= ${now} or v.claimable_at > ${horizon}) and not ${isSuspended(V_TENANT)} and case v.status when 'deleted' then true
      else ${isPending(sql`<= case v.status when 'enabled' then ${now}::timestamptz else 'infinity' end`)}
        or ${isPending(sql`> ${latestAttemptAt(now)}`)} end`
}

const KEY = sql`v.tenant_id, v.webhook_endpoint_id`
export const QUEUED_ENDPOINTS = {
  table: sql`webhook_endpoints v`,
  key: KEY,
  isClaimed: sql`v.webhook_endpoint_id = claimed.webhook_endpoint_id`,
  counted: sql`claims = v.claims + 1`,
  answered: sql`${STORED.selected}, v.claims`,
  isClaimable,
}

/** Calls `notify` after there are new events, or deliveries that are due at once. */
export const citusWebhooks = (
  query: Query,
  allQuery: Query,
  transact: Transact,
  outbox: Outbox,
  notify: () => void,
): Omit<Webhooks, 'claim'> => ({
  list: async (tenantId) => {
    const rows = await query(tenantId)<EndpointRow>`
      select ${STORED.selected} from webhook_endpoints v where v.tenant_id = ${tenantId} and v.slot is not null
      order by v.webhook_endpoint_id`
    return rows.map(storedEndpoint)
  },

  add: (endpoint) => {
    const row = { ...endpointRow(endpoint), claims: 0, claimableAt: endpoint.createdAt }
    return unlessOvertaken(query(endpoint.tenantId)`insert into webhook_endpoints ${ENDPOINT.values([row])}`)
  },

  /** An event of its change is kept even if it was the last enabled endpoint. */
  change: async (endpoint, lastUpdatedAt, { resetsFailures = false, event } = {}) => {
    const { tenantId, webhookEndpointId, updatedAt } = endpoint
    const changing = transact(tenantId, async (send) => {
      const changed = await send`
        update webhook_endpoints v set
          (${CHANGE.names}) = (select ${CHANGE.values} from ${CHANGE.from([endpoint])}),
          failures = case when ${resetsFailures}::boolean then 0 else v.failures end,
          failing_since = case when ${resetsFailures}::boolean then null else v.failing_since end,
          last_error = case when ${resetsFailures}::boolean then null else v.last_error end,
          claimable_at = case
            when ${resetsFailures}::boolean and (v.failures > 0 or v.status <> 'enabled') then ${updatedAt}
            else v.claimable_at end
        where v.tenant_id = ${tenantId} and v.webhook_endpoint_id = ${webhookEndpointId}
          and v.updated_at = ${lastUpdatedAt}
        returning 1`
      if (changed.length > 0 && event) outbox.add(send, [event])
      return changed.length > 0
    })
    const isChanged = await changing.catch(ifOvertaken(false))
    if (isChanged) notify()
    return isChanged ? 'recorded' : 'overtaken'
  },

  settle: async (endpoint, results, { failures, failingSince, lastError, claimableAt, readAt }) => {
    // Sorted in the order in which a replay locks them.
    const rows = sortedBy(results, 'eventId').map((result) => ({ ...endpoint, ...result }))
    const ifSame = sql`case v.url when ${endpoint.url} then`
    const settled = query(endpoint.tenantId)`
      with changed as (
        update webhook_endpoints v set failures = ${ifSame} ${failures}::int else v.failures end,
          failing_since = ${ifSame} ${failingSince}::timestamptz else v.failing_since end,
          last_error = ${ifSame} ${lastError} else v.last_error end,
          claimable_at = coalesce(${claimableAt}, v.claimable_at)
        where ${matchesId(endpoint, V)} and v.claims = ${endpoint.claims}
        returning 1
      ), tried as (
        update webhook_deliveries d set status = r.status, attempts = r.attempts, next_attempt_at = r.next_attempt_at,
          last_status = r.last_status, last_error = r.last_error, delivered_at = r.delivered_at,
          last_attempts = case when r.attempt is null then d.last_attempts else (
            select '[' || string_agg(a.value::text, ',' order by a.n) || ']' from (
              select l.value, l.n from json_array_elements(d.last_attempts) with ordinality l (value, n)
              union all select r.attempt, ${ATTEMPTS_KEPT} + 1
            ) a where a.n > json_array_length(d.last_attempts) + 1 - ${ATTEMPTS_KEPT})::json end
        from ${RESULT.from(rows)}
        where d.tenant_id = r.tenant_id and d.webhook_endpoint_id = r.webhook_endpoint_id and d.event_id = r.event_id
          and (r.status = 'delivered' or d.next_attempt_at <= ${readAt}
            or d.next_attempt_at > ${latestAttemptAt(readAt)})
          and exists (select 1 from changed)
          and d.tenant_id = ${endpoint.tenantId}
      )
      select 1 as done from changed`
    return (await settled.catch(ifOvertaken([]))).length > 0
  },

  ...citusDeliveries(query, allQuery, transact, notify),

  sweep: async (endpoint, error, max, isLast) => {
    const isDeleted = endpoint.status === 'deleted'
    const order = isDeleted
      ? sql`order by d.event_id`
      : sql`and d.status = 'pending' order by d.next_attempt_at`
    const sweep = isDeleted
      ? sql`delete from webhook_deliveries d using due`
      : sql`
        update webhook_deliveries d set status = 'failed', next_attempt_at = null, last_error = ${error} from due`
    const [row] = await query(endpoint.tenantId)<{ found: number }>`
      with still as materialized (
        select 1 from webhook_endpoints v where ${matchesId(endpoint, V)} and v.status = ${isDeleted ? 'deleted' : 'disabled'}
      ), due as materialized (
        select d.tenant_id, d.webhook_endpoint_id, d.event_id from webhook_deliveries d
        where ${matchesId(endpoint, D)} and exists (select 1 from still) ${order} limit ${max}
      ), swept as (
        ${sweep} where d.tenant_id = due.tenant_id and d.webhook_endpoint_id = due.webhook_endpoint_id
          and d.event_id = due.event_id and d.tenant_id = ${endpoint.tenantId}
      ), ended as (
        delete from webhook_endpoints v
        where ${matchesId(endpoint, V)} and v.status = 'deleted' and ${isDeleted && isLast}::boolean and (select count(*) from due) < ${max}
      )
      select count(*)::int as found from due`
    return row?.found === max
  },
})
