import { ROWS_SCANNED_MAX } from '../../core/engine/slices.ts'
import type { ShownDelivery, StoredEndpoint, Webhooks } from '../../core/ports/webhooks.ts'
import { ATTEMPTS_KEPT, latestAttemptAt } from '../../core/webhooks/webhook-attempts.ts'
import { COLUMNS, type EventRow, storedEvent } from '../stores/rows.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import { backlogOf } from './claim.ts'
import {
  addEvent,
  DELIVER,
  ENABLED,
  type EndpointRow,
  EVENT_COLUMNS,
  EXPIRE_DELIVERIES,
  OF_ENDPOINT,
  storedEndpoint,
  subscribedEndpoints,
} from './events.ts'
import type { Database } from './open.ts'
import { BEFORE_ID, insertInto, type Values, valuesFor } from './statements.ts'
import { isSuspended } from './tenants.ts'

const SHOWN = Object.keys(COLUMNS.webhook_endpoints).filter((column) => !column.startsWith('claim'))
const CHANGING = SHOWN.slice(2).filter((column) => !/^fail|^last_error/.test(column))
const OF_DELIVERY = `${OF_ENDPOINT} and event_id = :eventId`
const CLAIMED = `${OF_ENDPOINT} and claims = :claims`
const LIST = `
  select ${SHOWN} from webhook_endpoints where tenant_id = :tenantId and status <> 'deleted'
  order by webhook_endpoint_id`
const ADD = insertInto('webhook_endpoints', COLUMNS.webhook_endpoints)
const CHANGE = `
  update webhook_endpoints set (${CHANGING}) = (${valuesFor(CHANGING)}),
    failures = iif(:resetsFailures, 0, failures), failing_since = iif(:resetsFailures, null, failing_since),
    last_error = iif(:resetsFailures, null, last_error),
    claimable_at = iif(:resetsFailures and (failures > 0 or status <> 'enabled'), :updatedAt, claimable_at)
  where ${OF_ENDPOINT} and updated_at = :lastUpdatedAt`

const PENDING = "webhook_deliveries where status = 'pending'"
const CLAIMABLE = `(w.claimable_at <= :now or w.claimable_at > :horizon) and not ${isSuspended('w')}`
/** `e`: endpoints with pending deliveries, from one to the next along their index; null after the last of a tenant. */
const DUE = `
  with recursive e (tenant_id, id) as (
    select :afterTenantId, null
    union all
    select iif(id is null, (select min(tenant_id) from ${PENDING} and tenant_id > e.tenant_id), tenant_id),
      iif(id is null, '', (
        select min(webhook_endpoint_id) from ${PENDING} and tenant_id = e.tenant_id and webhook_endpoint_id > e.id))
    from e where tenant_id is not null
  )
  select w.tenant_id, w.webhook_endpoint_id, w.claimable_at
  from e cross join webhook_endpoints w on w.tenant_id = e.tenant_id and w.webhook_endpoint_id = e.id
  where ${CLAIMABLE} and iif(w.status = 'enabled', (
    select min(next_attempt_at) from ${PENDING} and tenant_id = e.tenant_id and webhook_endpoint_id = e.id
  ) <= :now or (
    select max(next_attempt_at) from ${PENDING} and tenant_id = e.tenant_id and webhook_endpoint_id = e.id
  ) > :latest, w.status = 'disabled')
  union all
  select tenant_id, webhook_endpoint_id, claimable_at from webhook_endpoints w
  where status = 'deleted' and tenant_id > :afterTenantId and ${CLAIMABLE}
  order by 1, claimable_at limit :max`
const CLAIM = `
  update webhook_endpoints as w set claimable_at = :until, claims = claims + 1
  where ${OF_ENDPOINT} and ${CLAIMABLE} returning ${SHOWN}, claims`

const OF_EVENT = `
  from webhook_deliveries d cross join events e on e.tenant_id = d.tenant_id and e.event_id = d.event_id
  where d.tenant_id = :tenantId and d.webhook_endpoint_id = :webhookEndpointId`
const DUE_DELIVERIES = ['<= :now', '> :latest'].map(
  (at) => `
  select ${EVENT_COLUMNS}, d.attempts ${OF_EVENT} and d.status = 'pending' and d.next_attempt_at ${at}
  order by d.next_attempt_at, d.event_id limit :max`,
)
const SHOWN_DELIVERY = Object.keys(COLUMNS.webhook_deliveries).map((column) => `d.${column}`)
// The index alone shows where the scan of a filtered list stops.
const STOP = `
  select event_id as resume from webhook_deliveries where ${OF_ENDPOINT} and event_id < ${BEFORE_ID}
  order by event_id desc limit 1 offset ${ROWS_SCANNED_MAX - 1}`
const DELIVERIES = `
  select ${SHOWN_DELIVERY}, e.type ${OF_EVENT} and d.event_id < ${BEFORE_ID} and d.event_id >= :resume
    and d.status = coalesce(:status, d.status)
  order by d.event_id desc`
const DELIVERY = `select ${SHOWN_DELIVERY}, e.type ${OF_EVENT} and d.event_id = :eventId`

const SETTLE = `
  update webhook_endpoints set failures = iif(url = :url, :failures, failures),
    failing_since = iif(url = :url, :failingSince, failing_since), last_error = iif(url = :url, :lastError, last_error),
    claimable_at = coalesce(:claimableAt, claimable_at)
  where ${CLAIMED}`
const SETTLE_DELIVERY = `
  update webhook_deliveries set status = :status, attempts = :attempts, next_attempt_at = :nextAttemptAt,
    last_status = :lastStatus, last_error = :lastError, delivered_at = :deliveredAt,
    last_attempts = iif(:attempt is null, last_attempts, json_insert(
      iif(json_array_length(last_attempts) < ${ATTEMPTS_KEPT}, last_attempts, json_remove(last_attempts, '$[0]')),
      '$[#]', json(:attempt)))
  where ${OF_DELIVERY} and (:status = 'delivered' or next_attempt_at <= :readAt or next_attempt_at > :latest)`
const STATUS = `select status from webhook_endpoints where ${CLAIMED}`
const FAIL = `
  update webhook_deliveries set status = 'failed', next_attempt_at = null, last_error = :error
  where ${OF_ENDPOINT} and event_id in (
    select event_id from ${PENDING} and ${OF_ENDPOINT} order by next_attempt_at limit :max)`
const DELETE = `delete from webhook_endpoints where ${OF_ENDPOINT}`
const AGAIN = "set status = 'pending', attempts = 0, next_attempt_at = :now, delivered_at = null"
const RETRY = `update webhook_deliveries ${AGAIN} where ${OF_DELIVERY}`
const EVENTS_AFTER = `
  select ${EVENT_COLUMNS} from events e where tenant_id = :tenantId and event_id > :afterEventId order by event_id limit :max`
const REPLAY = `
  ${DELIVER} on conflict do update ${AGAIN} where status <> 'delivered' or :delivered`
const WAITING = `${PENDING} order by tenant_id, webhook_endpoint_id, next_attempt_at`

const endpointRow = ({ types, ...endpoint }: StoredEndpoint) => {
  return { ...endpoint, types: types?.join(' ') ?? null }
}

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
      if (database.run(CHANGE, { ...endpointRow(endpoint), lastUpdatedAt, resetsFailures }) === 0)
        return 'overtaken'
      if (event) addEvent(database, event)
      waiting()
      return 'recorded'
    }),

  claim: async (want) => {
    const wanted = { ...want, latest: latestAttemptAt(want.now) }
    // The walk is a read: other processes can write during it, and may claim everything that it found.
    for (;;) {
      const found = database.all<Values>(DUE, wanted)
      if (found.length === 0) return []
      const claimed = await database.write(() =>
        found.flatMap((one) => database.all<EndpointRow & { claims: number }>(CLAIM, { ...want, ...one })),
      )
      if (claimed.length > 0) return claimed.map(storedEndpoint)
    }
  },

  due: async (want) => {
    const wanted = { ...want, latest: latestAttemptAt(want.now) }
    const due = DUE_DELIVERIES.flatMap((sql) => database.all<EventRow & { attempts: number }>(sql, wanted))
    return due.slice(0, want.max).map(({ attempts, ...event }) => ({ attempts, event: storedEvent(event) }))
  },

  settle: (endpoint, results, state) =>
    database.write(() => {
      const latest = latestAttemptAt(state.readAt)
      const isClaimed = database.run(SETTLE, { ...endpoint, ...state }) > 0
      for (const result of isClaimed ? results : [])
        database.run(SETTLE_DELIVERY, { ...endpoint, ...state, ...result, latest })
      return isClaimed
    }),

  sweep: (endpoint, error, max, isLast) =>
    database.write(() => {
      const status = database.get<StoredEndpoint>(STATUS, endpoint)?.status
      if (status === undefined || status === 'enabled') return false
      const values = { ...endpoint, error, max, beforeEventId: AFTER_ALL_IDS }
      const swept = database.run(status === 'deleted' ? EXPIRE_DELIVERIES : FAIL, values)
      if (status === 'deleted' && isLast && swept < max) database.run(DELETE, endpoint)
      return swept === max
    }),

  deliveries: async (want) => {
    const stop = want.status && database.get<{ resume: string }>(STOP, want)
    const rows = database.slice<ShownDelivery>(DELIVERIES, { ...want, resume: '', ...stop })
    return { rows, resume: rows.length > want.limit ? null : (stop?.resume ?? null) }
  },

  retry: (want) =>
    database.write(() => {
      if (database.run(RETRY, want) > 0) waiting()
      return database.get<ShownDelivery>(DELIVERY, want)
    }),

  replay: (want) =>
    database.write(() => {
      const events = database.all<EventRow>(EVENTS_AFTER, want).map(storedEvent)
      const endpointsFor = subscribedEndpoints(
        database,
        database.all(`${ENABLED} and webhook_endpoint_id = :webhookEndpointId`, want),
      )
      let made = 0
      // Events that wait for their number get their delivery along with it.
      for (const event of events)
        if (event.sequence !== null && endpointsFor(event).length > 0)
          made += database.run(REPLAY, { ...want, eventId: event.eventId })
      waiting()
      return { made, lastEventId: (events.length === want.max && events.at(-1)?.eventId) || null }
    }),

  backlog: backlogOf(database, 'created_at', WAITING, isSuspended('waiting')),
})
