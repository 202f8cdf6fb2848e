import { setImmediate } from 'node:timers/promises'
import { memoized } from '../../core/engine/keys.ts'
import { eventsOfLog } from '../../core/events/new-event.ts'
import type { NewLog } from '../../core/ports/activities.ts'
import type { Events, NewEvent } from '../../core/ports/events.ts'
import type { Signal } from '../../core/ports/store.ts'
import type { StoredEndpoint } from '../../core/ports/webhooks.ts'
import { COLUMNS, type EventRow, storedEvent } from '../stores/rows.ts'
import { eventsAtOnce, subscribedAmong } from '../stores/subscribed-endpoints.ts'
import type { Database } from './open.ts'
import { insertInto, type Values } from './statements.ts'

const USES_EVENTS = "select 1 from webhook_endpoints where tenant_id = :tenantId and status = 'enabled'"
const ADD = insertInto('events', COLUMNS.events)

/** Within `write`, saves the events of a change, and those of its logs, for tenants that use events. */
export type Outbox = {
  (events: readonly NewEvent[] | undefined, logs?: readonly NewLog[]): void
  /** For one transaction with several changes: looks up once whether a tenant uses events. */
  readonly ofTransaction: () => (events: readonly NewEvent[] | undefined, logs: readonly NewLog[]) => void
}
/** Calls `added` within the transaction that adds events. */
export const sqliteOutbox = (database: Database, everyEvent: boolean, added: () => void): Outbox => {
  const ofTransaction = () => {
    const usesEvents = memoized((tenantId: string) => everyEvent || database.has(USES_EVENTS, { tenantId }))
    return (events: readonly NewEvent[] = [], logs: readonly NewLog[] = []) => {
      const ofLogs = logs.filter(({ tenantId }) => usesEvents(tenantId)).flatMap(eventsOfLog)
      const saved = [...ofLogs, ...events.filter(({ tenantId }) => usesEvents(tenantId))]
      for (const event of saved) addEvent(database, event)
      if (saved.length > 0) added()
    }
  }
  return Object.assign(
    (events?: readonly NewEvent[], logs?: readonly NewLog[]) => ofTransaction()(events, logs),
    { ofTransaction },
  )
}
export const addEvent = (database: Database, event: NewEvent) =>
  database.run(ADD, { ...event, sequence: null, ids: JSON.stringify(event.ids) })

export const EVENT_COLUMNS = Object.keys(COLUMNS.events).map((column) => `e.${column}`)

const LOG =
  'select source, type from prospect_logs where tenant_id = :tenantId and prospect_log_id = :prospectLogId'
export type EndpointRow = Omit<StoredEndpoint, 'types'> & { readonly types: string | null }
export const storedEndpoint = <Row extends EndpointRow>({ types, ...row }: Row) => {
  return { ...row, types: (types?.split(' ') ?? null) as StoredEndpoint['types'] }
}
/** Enabled endpoints of the tenant that take an event. */
export const subscribedEndpoints = (database: Database, endpoints: readonly EndpointRow[]) =>
  subscribedAmong(endpoints.map(storedEndpoint), ({ tenantId, ids: { prospectLogId = '' } }) =>
    database.get<NewLog>(LOG, { tenantId, prospectLogId }),
  )
export const ENABLED = `
  select webhook_endpoint_id, types, sources, log_types from webhook_endpoints
  where tenant_id = :tenantId and status = 'enabled'`
/** Inserts a pending delivery. */
export const DELIVER = `
  insert into webhook_deliveries
    (tenant_id, webhook_endpoint_id, event_id, status, attempts, next_attempt_at, created_at)
  values (:tenantId, :webhookEndpointId, :eventId, 'pending', 0, :now, :now)`
const WAITING = `
  with recursive t (tenant_id) as (
    select :afterTenantId
    union all
    select (select min(tenant_id) from events where sequence is null and tenant_id > t.tenant_id)
    from t where tenant_id is not null
  )
  select tenant_id from t where tenant_id > :afterTenantId limit :max`
// Without statistics SQLite would go through all events of the tenant.
const NEXT = `
  select ${EVENT_COLUMNS} from events e indexed by events_waiting
  where tenant_id = :tenantId and sequence is null order by event_id limit :max`
const COUNT = `
  insert into event_counts (tenant_id, sequence) values (:tenantId, :more)
  on conflict (tenant_id) do update set sequence = sequence + excluded.sequence returning sequence`
const NUMBER = 'update events set sequence = :sequence where tenant_id = :tenantId and event_id = :eventId'
const EVENTS = `select ${EVENT_COLUMNS} from events e where e.tenant_id = :tenantId`
const LIST = `${EVENTS} and e.sequence > :afterSequence order by e.sequence limit :limit`
const LAST = 'select sequence from event_counts where tenant_id = :tenantId'
const FIND = `${EVENTS} and e.event_id = :eventId and e.sequence is not null`
const ENDPOINTS = 'select webhook_endpoint_id from webhook_endpoints where tenant_id = :tenantId'
const expireFrom = (table: string) => `
  delete from ${table} and event_id in (
    select event_id from ${table} and event_id < :beforeEventId order by event_id limit :max)`
export const OF_ENDPOINT = 'tenant_id = :tenantId and webhook_endpoint_id = :webhookEndpointId'
export const EXPIRE_DELIVERIES = expireFrom(`webhook_deliveries where ${OF_ENDPOINT}`)
const EXPIRE_EVENTS = `${expireFrom('events where tenant_id = :tenantId')} and sequence is not null`

/** Calls `emit` within the transaction that numbers events or adds deliveries. */
export const sqliteEvents = (database: Database, emit: (signal: Signal) => void): Events => ({
  waiting: async (afterTenantId, max) =>
    database.all<{ tenantId: string }>(WAITING, { afterTenantId, max }).map(({ tenantId }) => tenantId),

  number: (want) =>
    database.write(() => {
      const enabled = database.all<EndpointRow>(ENABLED, want)
      const max = eventsAtOnce(enabled.length, want.max)
      const events = database.all<EventRow>(NEXT, { ...want, max }).map(storedEvent)
      if (events.length === 0) return 0
      const endpointsFor = subscribedEndpoints(database, enabled)
      const count = database.get<{ sequence: number }>(COUNT, { ...want, more: events.length })
      const before = Number(count?.sequence) - events.length
      let made = 0
      for (const [i, event] of events.entries()) {
        const { tenantId, eventId } = event
        database.run(NUMBER, { tenantId, eventId, sequence: before + i + 1 })
        for (const { webhookEndpointId } of endpointsFor(event))
          made += database.run(DELIVER, { ...want, eventId, webhookEndpointId })
      }
      if (made > 0) emit('deliveries')
      emit(`numbered ${want.tenantId}`)
      return events.length
    }),

  list: async (want) => {
    const found = () => [database.all<EventRow>(LIST, want), database.all<EventRow>(LAST, want)] as const
    const [rows, [last]] = database.read(found)
    return { rows: rows.map(storedEvent), last: last?.sequence ?? 0 }
  },

  find: async (want) => database.all<EventRow>(FIND, want).map(storedEvent)[0] ?? null,

  // Deliveries go first, so that none is left without its event. Other writes can run in between.
  expire: async (want) => {
    let isMore = false
    for (const endpoint of [...database.all<Values>(ENDPOINTS, want), null]) {
      const expire = endpoint === null ? EXPIRE_EVENTS : EXPIRE_DELIVERIES
      if ((await database.write(() => database.run(expire, { ...want, ...endpoint }))) === want.max)
        isMore = true
      await setImmediate()
    }
    return isMore
  },
})
