import { ROWS_SCANNED_MAX } from '../../core/engine/slices.ts'
import type { ShownDelivery, Webhooks } from '../../core/ports/webhooks.ts'
import { ATTEMPTS_KEPT, latestAttemptAt } from '../../core/webhooks/webhook-attempts.ts'
import { COLUMNS, type EventRow, storedEvent } from '../stores/rows.ts'
import { backlogBy } from './claim.ts'
import { subscribedEndpoints } from './endpoint-rows.ts'
import type { Database } from './open.ts'
import { BEFORE_ID } from './statements.ts'
import { isSuspended } from './tenants.ts'

const EVENT = Object.keys(COLUMNS.events).map((column) => `e.${column}`)
const DELIVERY = Object.keys(COLUMNS.webhook_deliveries).map((column) => `d.${column}`)

/** Adds a pending delivery. */
export const ADD_DELIVERY = `
  insert into webhook_deliveries
    (tenant_id, webhook_endpoint_id, event_id, status, attempts, next_attempt_at, created_at)
  values (:tenantId, :webhookEndpointId, :eventId, 'pending', 0, :now, :now)`
/** Deletes the oldest deliveries of an endpoint. */
export const EXPIRE_DELIVERIES = `
  delete from webhook_deliveries
  where tenant_id = :tenantId and webhook_endpoint_id = :webhookEndpointId and event_id in (
    select event_id from webhook_deliveries
    where tenant_id = :tenantId and webhook_endpoint_id = :webhookEndpointId and event_id < :beforeEventId
    order by event_id limit :max
  )`

const DUE = `
  select ${EVENT}, d.attempts
  from webhook_deliveries d cross join events e on e.tenant_id = d.tenant_id and e.event_id = d.event_id
  where d.tenant_id = :tenantId and d.webhook_endpoint_id = :webhookEndpointId
    and d.status = 'pending' and d.next_attempt_at <= :now
  order by d.next_attempt_at, d.event_id limit :max`
/** A clock that was ahead has put these off for too long. */
const DUE_TOO_LATE = `
  select ${EVENT}, d.attempts
  from webhook_deliveries d cross join events e on e.tenant_id = d.tenant_id and e.event_id = d.event_id
  where d.tenant_id = :tenantId and d.webhook_endpoint_id = :webhookEndpointId
    and d.status = 'pending' and d.next_attempt_at > :latest
  order by d.next_attempt_at, d.event_id limit :max`
const SETTLE_ENDPOINT = `
  update webhook_endpoints set failures = iif(url = :url, :failures, failures),
    failing_since = iif(url = :url, :failingSince, failing_since),
    last_error = iif(url = :url, :lastError, last_error),
    claimable_at = coalesce(:claimableAt, claimable_at)
  where tenant_id = :tenantId and webhook_endpoint_id = :webhookEndpointId and claims = :claims`
const SETTLE = `
  update webhook_deliveries set status = :status, attempts = :attempts, next_attempt_at = :nextAttemptAt,
    last_status = :lastStatus, last_error = :lastError, delivered_at = :deliveredAt,
    last_attempts = iif(:attempt is null, last_attempts, json_insert(
      iif(json_array_length(last_attempts) < ${ATTEMPTS_KEPT}, last_attempts, json_remove(last_attempts, '$[0]')),
      '$[#]', json(:attempt)))
  where tenant_id = :tenantId and webhook_endpoint_id = :webhookEndpointId and event_id = :eventId
    and (:status = 'delivered' or next_attempt_at <= :readAt or next_attempt_at > :latest)`
// The index alone shows where the scan of a filtered list stops.
const STOP = `
  select event_id as resume from webhook_deliveries
  where tenant_id = :tenantId and webhook_endpoint_id = :webhookEndpointId and event_id < ${BEFORE_ID}
  order by event_id desc limit 1 offset ${ROWS_SCANNED_MAX - 1}`
const LIST = `
  select ${DELIVERY}, e.type
  from webhook_deliveries d cross join events e on e.tenant_id = d.tenant_id and e.event_id = d.event_id
  where d.tenant_id = :tenantId and d.webhook_endpoint_id = :webhookEndpointId
    and d.event_id < ${BEFORE_ID} and d.event_id >= :resume and d.status = coalesce(:status, d.status)
  order by d.event_id desc`
const FIND = `
  select ${DELIVERY}, e.type
  from webhook_deliveries d cross join events e on e.tenant_id = d.tenant_id and e.event_id = d.event_id
  where d.tenant_id = :tenantId and d.webhook_endpoint_id = :webhookEndpointId and d.event_id = :eventId`
const RETRY = `
  update webhook_deliveries set status = 'pending', attempts = 0, next_attempt_at = :now, delivered_at = null
  where tenant_id = :tenantId and webhook_endpoint_id = :webhookEndpointId and event_id = :eventId`
const ENABLED = `
  select webhook_endpoint_id, types, sources, log_types from webhook_endpoints
  where tenant_id = :tenantId and webhook_endpoint_id = :webhookEndpointId and status = 'enabled'`
const EVENTS_AFTER = `
  select ${EVENT} from events e where e.tenant_id = :tenantId and e.event_id > :afterEventId
  order by e.event_id limit :max`
const REPLAY = `
  ${ADD_DELIVERY}
  on conflict do update set status = 'pending', attempts = 0, next_attempt_at = :now, delivered_at = null
  where status <> 'delivered' or :delivered`
const BACKLOG = `
  select count(*) as count, min(created_at) as oldest
  from (
    select tenant_id, created_at from webhook_deliveries where status = 'pending'
    order by tenant_id, webhook_endpoint_id, next_attempt_at limit :countMax
  ) waiting
  where not ${isSuspended('waiting')}`

type Deliveries = Pick<Webhooks, 'due' | 'settle' | 'deliveries' | 'retry' | 'replay' | 'backlog'>

/** Deliveries to endpoints. Calls `waiting` within each transaction that may give a sender work. */
export const sqliteDeliveries = (database: Database, waiting: () => void): Deliveries => ({
  due: async (lookup) => {
    const values = { ...lookup, latest: latestAttemptAt(lookup.now) }
    const rows = [DUE, DUE_TOO_LATE].flatMap((sql) =>
      database.all<EventRow & { attempts: number }>(sql, values),
    )
    return rows
      .slice(0, lookup.max)
      .map(({ attempts, ...event }) => ({ attempts, event: storedEvent(event) }))
  },

  settle: (endpoint, results, state) =>
    database.write(() => {
      if (database.run(SETTLE_ENDPOINT, { ...endpoint, ...state }) === 0) return false
      const latest = latestAttemptAt(state.readAt)
      for (const result of results) database.run(SETTLE, { ...endpoint, ...state, ...result, latest })
      return true
    }),

  deliveries: async (lookup) => {
    const stop = lookup.status && database.get<{ resume: string }>(STOP, lookup)
    const rows = database.slice<ShownDelivery>(LIST, { ...lookup, resume: '', ...stop })
    return { rows, resume: rows.length > lookup.limit ? null : (stop?.resume ?? null) }
  },

  retry: (lookup) =>
    database.write(() => {
      if (database.run(RETRY, lookup) > 0) waiting()
      return database.get<ShownDelivery>(FIND, lookup)
    }),

  // Events that wait for their number get their delivery along with it.
  replay: (lookup) =>
    database.write(() => {
      const events = database.all<EventRow>(EVENTS_AFTER, lookup)
      const endpointsFor = subscribedEndpoints(database, database.all(ENABLED, lookup))
      const replayed = events
        .filter(({ sequence }) => sequence !== null)
        .filter((event) => endpointsFor(storedEvent(event)).length > 0)
      let made = 0
      for (const { eventId } of replayed) made += database.run(REPLAY, { ...lookup, eventId })
      waiting()
      const last = events.length === lookup.max ? events.at(-1) : undefined
      return { made, lastEventId: last?.eventId ?? null }
    }),

  backlog: backlogBy(database, BACKLOG),
})
