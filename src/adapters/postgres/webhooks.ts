import type { ClaimedEndpoint, EndpointKey, StoredEndpoint, Webhooks } from '../../core/ports/webhooks.ts'
import { latestAttemptAt } from '../../core/webhooks/webhook-attempts.ts'
import { COLUMNS, without } from '../stores/rows.ts'
import { postgresDeliveries } from './deliveries.ts'
import { EVENT, eventRow } from './outbox.ts'
import { ifOvertaken, unlessOvertaken } from './overtaken.ts'
import { columns, type Query } from './sql.ts'

/** A row with the types as one text, `{a,b}`. */
type EndpointRow = Omit<ClaimedEndpoint, 'types'> & { readonly types: string | null }
const storedEndpoint = <Row extends Omit<EndpointRow, 'claims'>>(row: Row) => ({
  ...row,
  types: row.types === null ? null : typesIn(row.types),
})
const typesIn = (text: string) => text.match(/[^{},]+/g) as unknown as StoredEndpoint['types']

const STORED_COLUMNS = without(COLUMNS.webhook_endpoints, 'claims', 'claimable_at')
const FIXED_COLUMNS = ['tenant_id', 'webhook_endpoint_id', 'created_at', 'idempotency_key', 'request_hash']
const ENDPOINT = columns('endpoint', COLUMNS.webhook_endpoints)
const STORED = columns('v', STORED_COLUMNS)
const CHANGEABLE = columns(
  'change',
  without(STORED_COLUMNS, ...FIXED_COLUMNS, 'failures', 'failing_since', 'last_error'),
)

/** `notify` is called once new events, or deliveries due immediately, are committed. */
export const postgresWebhooks = (query: Query, notify: () => void): Webhooks => ({
  list: async (tenantId) => {
    const rows = await query(tenantId)<EndpointRow>`
      select ${STORED.selected} from webhook_endpoints v where v.tenant_id = ${tenantId} and v.slot is not null
      order by v.webhook_endpoint_id`
    return rows.map(storedEndpoint)
  },

  add: (endpoint) => {
    const row = { ...endpoint, claims: 0, claimableAt: endpoint.createdAt }
    return unlessOvertaken(query(endpoint.tenantId)`
      insert into webhook_endpoints (${ENDPOINT.names}) select ${ENDPOINT.values} from ${ENDPOINT.from([row])}`)
  },

  change: async (endpoint, lastUpdatedAt, { resetsFailures = false, event } = {}) => {
    const changed = query(endpoint.tenantId)`
      with changed as (
        update webhook_endpoints v set
          (${CHANGEABLE.names}) = (select ${CHANGEABLE.values} from ${CHANGEABLE.from([endpoint])}),
          failures = case when ${resetsFailures}::boolean then 0 else v.failures end,
          failing_since = case when ${resetsFailures}::boolean then null else v.failing_since end,
          last_error = case when ${resetsFailures}::boolean then null else v.last_error end,
          claimable_at = case
            when ${resetsFailures}::boolean and (v.failures > 0 or v.status <> 'enabled') then ${endpoint.updatedAt}
            else v.claimable_at end
        where v.tenant_id = ${endpoint.tenantId} and v.webhook_endpoint_id = ${endpoint.webhookEndpointId}
          and v.updated_at = ${lastUpdatedAt}
        returning 1
      ), new_events as (
        insert into events (${EVENT.names}) select ${EVENT.values} from ${EVENT.from(event ? [eventRow(event)] : [])}
        where exists (select 1 from changed)
      )
      select 1 as done from changed`
    const isChanged = (await changed.catch(ifOvertaken([]))).length > 0
    if (isChanged) notify()
    return isChanged ? 'recorded' : 'overtaken'
  },

  /**
   * Goes from tenant to tenant along the index of pending deliveries, and stops at `max`: it reads no more than it takes,
   * however long the backlog. Then claims deleted endpoints, along their index. Endpoints that another claim has locked are
   * skipped, so that senders never wait for each other. Deliveries of enabled endpoints wait until they are due.
   */
  claim: async ({ now, until, horizon, afterTenantId, max }) => {
    const claimed = await query()<EndpointRow>`
      with recursive tenant (tenant_id) as (
        (
          select d.tenant_id from webhook_deliveries d where d.status = 'pending' and d.tenant_id > ${afterTenantId}
          order by d.tenant_id limit 1
        )
        union all
        select (
          select d.tenant_id from webhook_deliveries d where d.status = 'pending' and d.tenant_id > tenant.tenant_id
          order by d.tenant_id limit 1
        ) from tenant where tenant.tenant_id is not null
      ), with_work as (
        select v.* from tenant
          cross join lateral (
            select v.tenant_id, v.webhook_endpoint_id from webhook_endpoints v
            where v.tenant_id = tenant.tenant_id and v.status <> 'deleted'
              and (v.claimable_at <= ${now} or v.claimable_at > ${horizon})
              and not exists (select 1 from tenants t where t.tenant_id = v.tenant_id and t.suspended_at is not null)
              and (exists (
                select 1 from webhook_deliveries d
                where d.tenant_id = v.tenant_id and d.webhook_endpoint_id = v.webhook_endpoint_id
                  and d.status = 'pending'
                  and d.next_attempt_at <= case v.status when 'enabled' then ${now}::timestamptz else 'infinity' end
              ) or exists (
                select 1 from webhook_deliveries d
                where d.tenant_id = v.tenant_id and d.webhook_endpoint_id = v.webhook_endpoint_id
                  and d.status = 'pending' and d.next_attempt_at > ${latestAttemptAt(now)}
              ))
            order by v.claimable_at limit ${max} for update skip locked
          ) v
        limit ${max}
      ), deleted as (
        select v.tenant_id, v.webhook_endpoint_id from webhook_endpoints v
        where v.status = 'deleted' and v.tenant_id > ${afterTenantId}
          and (v.claimable_at <= ${now} or v.claimable_at > ${horizon})
          and not exists (select 1 from tenants t where t.tenant_id = v.tenant_id and t.suspended_at is not null)
        order by v.tenant_id limit ${max} for update skip locked
      ), claimed as (
        select * from with_work union all select * from deleted order by tenant_id limit ${max}
      )
      update webhook_endpoints v set claimable_at = ${until}, claims = v.claims + 1 from claimed
      where v.tenant_id = claimed.tenant_id and v.webhook_endpoint_id = claimed.webhook_endpoint_id
      returning ${STORED.selected}, v.claims`
    return claimed.map(storedEndpoint)
  },

  sweep: async (endpoint, error, max, isLast) => {
    const isDeleted = endpoint.status === 'deleted'
    const [row] = await (isDeleted
      ? deleteDeliveries(query, endpoint, max, isLast)
      : failDeliveries(query, endpoint, max, error))
    return row?.found === max
  },

  ...postgresDeliveries(query, notify),
})

/** Deletes deliveries of an endpoint that is still deleted, and with the last ones the endpoint itself. */
const deleteDeliveries = (
  query: Query,
  { tenantId, webhookEndpointId }: EndpointKey,
  max: number,
  isLast: boolean,
) => query(tenantId)<{ found: number }>`
  with endpoint_to_empty as materialized (
    select 1 from webhook_endpoints v
    where v.tenant_id = ${tenantId} and v.webhook_endpoint_id = ${webhookEndpointId} and v.status = 'deleted'
  ), found as materialized (
    select d.tenant_id, d.webhook_endpoint_id, d.event_id from webhook_deliveries d
    where d.tenant_id = ${tenantId} and d.webhook_endpoint_id = ${webhookEndpointId}
      and exists (select 1 from endpoint_to_empty)
    order by d.event_id limit ${max}
  ), deleted_deliveries as (
    delete from webhook_deliveries d using found
    where d.tenant_id = found.tenant_id and d.webhook_endpoint_id = found.webhook_endpoint_id
      and d.event_id = found.event_id
  ), deleted_endpoint as (
    delete from webhook_endpoints v
    where v.tenant_id = ${tenantId} and v.webhook_endpoint_id = ${webhookEndpointId} and v.status = 'deleted'
      and ${isLast}::boolean and (select count(*) from found) < ${max}
  )
  select count(*)::int as found from found`

/** Fails pending deliveries of an endpoint that is still disabled. */
const failDeliveries = (
  query: Query,
  { tenantId, webhookEndpointId }: EndpointKey,
  max: number,
  error: string,
) => query(tenantId)<{ found: number }>`
  with endpoint_to_fail as materialized (
    select 1 from webhook_endpoints v
    where v.tenant_id = ${tenantId} and v.webhook_endpoint_id = ${webhookEndpointId} and v.status = 'disabled'
  ), found as materialized (
    select d.tenant_id, d.webhook_endpoint_id, d.event_id from webhook_deliveries d
    where d.tenant_id = ${tenantId} and d.webhook_endpoint_id = ${webhookEndpointId} and d.status = 'pending'
      and exists (select 1 from endpoint_to_fail)
    order by d.next_attempt_at limit ${max}
  ), failed_deliveries as (
    update webhook_deliveries d set status = 'failed', next_attempt_at = null, last_error = ${error} from found
    where d.tenant_id = found.tenant_id and d.webhook_endpoint_id = found.webhook_endpoint_id
      and d.event_id = found.event_id
  )
  select count(*)::int as found from found`
