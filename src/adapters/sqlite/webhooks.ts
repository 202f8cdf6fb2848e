import type { StoredEndpoint, Webhooks } from '../../core/ports/webhooks.ts'
import { latestAttemptAt } from '../../core/webhooks/webhook-attempts.ts'
import { COLUMNS, without } from '../stores/rows.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import { EXPIRE_DELIVERIES, sqliteDeliveries } from './deliveries.ts'
import { type EndpointRow, endpointRow, storedEndpoint } from './endpoint-rows.ts'
import type { Database } from './open.ts'
import { addEvent } from './outbox.ts'
import { insertInto, type Values, valuesFor } from './statements.ts'
import { isSuspended } from './tenants.ts'

const STORED_COLUMNS = without(COLUMNS.webhook_endpoints, 'claims', 'claimable_at')
const STORED = Object.keys(STORED_COLUMNS)
const FIXED_COLUMNS = ['tenant_id', 'webhook_endpoint_id', 'created_at', 'idempotency_key', 'request_hash']
const CHANGEABLE = Object.keys(
  without(STORED_COLUMNS, ...FIXED_COLUMNS, 'failures', 'failing_since', 'last_error'),
)

const LIST = `
  select ${STORED} from webhook_endpoints where tenant_id = :tenantId and status <> 'deleted'
  order by webhook_endpoint_id`
const ADD = insertInto('webhook_endpoints', COLUMNS.webhook_endpoints)
const CHANGE = `
  update webhook_endpoints set (${CHANGEABLE}) = (${valuesFor(CHANGEABLE)}),
    failures = iif(:resetsFailures, 0, failures), failing_since = iif(:resetsFailures, null, failing_since),
    last_error = iif(:resetsFailures, null, last_error),
    claimable_at = iif(:resetsFailures and (failures > 0 or status <> 'enabled'), :updatedAt, claimable_at)
  where tenant_id = :tenantId and webhook_endpoint_id = :webhookEndpointId and updated_at = :lastUpdatedAt`
/**
 * Endpoints with work: those with pending deliveries, and deleted ones. `walk` goes from one endpoint to the next along
 * the index of pending deliveries; after the last endpoint of a tenant its `endpoint_id` is null.
 */
const DUE = `
  with recursive walk (tenant_id, endpoint_id) as (
    select :afterTenantId, null
    union all
    select
      iif(endpoint_id is not null, tenant_id, (
        select min(d.tenant_id) from webhook_deliveries d
        where d.status = 'pending' and d.tenant_id > walk.tenant_id
      )),
      iif(endpoint_id is null, '', (
        select min(d.webhook_endpoint_id) from webhook_deliveries d
        where d.status = 'pending' and d.tenant_id = walk.tenant_id and d.webhook_endpoint_id > walk.endpoint_id
      ))
    from walk where tenant_id is not null
  )
  select w.tenant_id, w.webhook_endpoint_id, w.claimable_at
  from walk cross join webhook_endpoints w
    on w.tenant_id = walk.tenant_id and w.webhook_endpoint_id = walk.endpoint_id
  where (w.claimable_at <= :now or w.claimable_at > :horizon) and not ${isSuspended('w')}
    and iif(
      w.status = 'enabled',
      (
        select min(d.next_attempt_at) from webhook_deliveries d
        where d.status = 'pending' and d.tenant_id = w.tenant_id and d.webhook_endpoint_id = w.webhook_endpoint_id
      ) <= :now or (
        select max(d.next_attempt_at) from webhook_deliveries d
        where d.status = 'pending' and d.tenant_id = w.tenant_id and d.webhook_endpoint_id = w.webhook_endpoint_id
      ) > :latest,
      w.status = 'disabled'
    )
  union all
  select w.tenant_id, w.webhook_endpoint_id, w.claimable_at from webhook_endpoints w
  where w.status = 'deleted' and w.tenant_id > :afterTenantId
    and (w.claimable_at <= :now or w.claimable_at > :horizon) and not ${isSuspended('w')}
  order by tenant_id, claimable_at limit :max`
const CLAIM = `
  update webhook_endpoints as w set claimable_at = :until, claims = claims + 1
  where tenant_id = :tenantId and webhook_endpoint_id = :webhookEndpointId
    and (w.claimable_at <= :now or w.claimable_at > :horizon) and not ${isSuspended('w')}
  returning ${STORED}, claims`
const STATUS = `
  select status from webhook_endpoints
  where tenant_id = :tenantId and webhook_endpoint_id = :webhookEndpointId and claims = :claims`
const FAIL_DELIVERIES = `
  update webhook_deliveries set status = 'failed', next_attempt_at = null, last_error = :error
  where tenant_id = :tenantId and webhook_endpoint_id = :webhookEndpointId and event_id in (
    select event_id from webhook_deliveries
    where status = 'pending' and tenant_id = :tenantId and webhook_endpoint_id = :webhookEndpointId
    order by next_attempt_at limit :max
  )`
const DELETE = `
  delete from webhook_endpoints where tenant_id = :tenantId and webhook_endpoint_id = :webhookEndpointId`

/** Calls `waiting` within each transaction that may give a sender work. */
export const sqliteWebhooks = (database: Database, waiting: () => void): Webhooks => ({
  list: async (tenantId) => database.all<EndpointRow>(LIST, { tenantId }).map(storedEndpoint),

  add: (endpoint) =>
    database.record(() => {
      database.run(ADD, { ...endpointRow(endpoint), claims: 0, claimableAt: endpoint.createdAt })
      return 'recorded'
    }),

  change: (endpoint, lastUpdatedAt, { resetsFailures = false, event } = {}) =>
    database.record(() => {
      const changed = database.run(CHANGE, { ...endpointRow(endpoint), lastUpdatedAt, resetsFailures })
      if (changed === 0) return 'overtaken'
      if (event) addEvent(database, event)
      waiting()
      return 'recorded'
    }),

  claim: async (lookup) => {
    const values = { ...lookup, latest: latestAttemptAt(lookup.now) }
    // The walk is a read: other processes can write during it, and may claim everything that it found.
    for (;;) {
      const due = database.all<Values>(DUE, values)
      if (due.length === 0) return []
      const claimed = await database.write(() =>
        due.flatMap((endpoint) =>
          database.all<EndpointRow & { claims: number }>(CLAIM, { ...lookup, ...endpoint }),
        ),
      )
      if (claimed.length > 0) return claimed.map(storedEndpoint)
    }
  },

  sweep: (endpoint, error, max, isLast) =>
    database.write(() => {
      const status = database.get<StoredEndpoint>(STATUS, endpoint)?.status
      if (status === undefined || status === 'enabled') return false
      if (status === 'disabled') return database.run(FAIL_DELIVERIES, { ...endpoint, error, max }) === max
      const deleted = database.run(EXPIRE_DELIVERIES, { ...endpoint, max, beforeEventId: AFTER_ALL_IDS })
      if (isLast && deleted < max) database.run(DELETE, endpoint)
      return deleted === max
    }),

  ...sqliteDeliveries(database, waiting),
})
