import { setImmediate as nextTurn } from 'node:timers/promises'
import { memoized } from '../../core/engine/keys.ts'
import type { EventIds, Events, NewEvent, StoredEvent } from '../../core/ports/events.ts'
import type { Signal } from '../../core/ports/store.ts'
import { COLUMNS } from '../stores/rows.ts'
import { type Database, insertInto, type Values } from './open.ts'

const USES_EVENTS = "select 1 from webhook_endpoints where tenant_id = :tenantId and status = 'enabled'"
const ADD = insertInto('events', COLUMNS.events)

/** Within `write`: saves the events of a change, of those tenants that use events. */
export type Outbox = (events: readonly NewEvent[] | undefined) => void
/** Calls `added` within the transaction that adds events. */
export const sqliteOutbox = (database: Database, everyEvent: boolean, added: () => void): Outbox => {
  return (events = []) => {
    const usesEvents = memoized((tenantId: string) => everyEvent || database.has(USES_EVENTS, { tenantId }))
    const saved = events.filter(({ tenantId }) => usesEvents(tenantId))
    for (const event of saved) addEvent(database, event)
    if (saved.length > 0) added()
  }
}
export const addEvent = (database: Database, event: NewEvent) =>
  database.run(ADD, { ...event, sequence: null, ids: JSON.stringify(event.ids) })

export const EVENT_COLUMNS = Object.keys(COLUMNS.events).map((column) => `e.${column}`)
export type EventRow = Omit<StoredEvent, 'ids'> & { readonly ids: string }
export const storedEvent = ({ ids, ...event }: EventRow): StoredEvent => {
  return { ...event, ids: JSON.parse(ids) as EventIds }
}

/** Of a logged activity, only a filter makes its source and its type be read. */
const PASSES = `
  case when w.sources is null and w.log_types is null or e.type <> 'prospect_log.created' then true else exists (
    select 1 from prospect_logs l where l.tenant_id = e.tenant_id and l.prospect_log_id = e.ids ->> 'prospectLogId'
      and (w.sources is null or l.source in (select value from json_each(w.sources)))
      and (w.log_types is null or l.type in (select value from json_each(w.log_types)))) end`
/** Pending deliveries of numbered events, to the endpoints of the tenant that take them. */
export const DELIVER = `
  insert into webhook_deliveries
    (tenant_id, webhook_endpoint_id, event_id, status, attempts, next_attempt_at, created_at)
  select e.tenant_id, w.webhook_endpoint_id, e.event_id, 'pending', 0, :now, :now
  from webhook_endpoints w cross join events e on e.tenant_id = w.tenant_id
  where w.tenant_id = :tenantId and (w.types is null or instr(' ' || w.types || ' ', ' ' || e.type || ' ') > 0)
    and ${PASSES}`
const DELIVER_FIRST = `${DELIVER} and w.status = 'enabled' and e.sequence > :before`
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
  select event_id from events indexed by events_waiting where tenant_id = :tenantId and sequence is null order by event_id limit :max`
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
      const events = database.all<Values>(NEXT, want)
      if (events.length === 0) return 0
      const count = database.get<{ sequence: number }>(COUNT, { ...want, more: events.length })
      const before = Number(count?.sequence) - events.length
      for (const [i, event] of events.entries())
        database.run(NUMBER, { ...want, ...event, sequence: before + i + 1 })
      if (database.run(DELIVER_FIRST, { ...want, before }) > 0) emit('deliveries')
      emit(`numbered ${want.tenantId}`)
      return events.length
    }),

  list: async (want) => {
    const found = () => [database.all<EventRow>(LIST, want), database.all<EventRow>(LAST, want)] as const
    const [rows, [last]] = database.read(found)
    return { rows: rows.map(storedEvent), last: last?.sequence ?? 0 }
  },

  find: async (want) => database.all<EventRow>(FIND, want).map(storedEvent)[0] ?? null,

  // The deliveries first: none is left without its event. Others can write in between.
  expire: async (want) => {
    let isMore = false
    for (const endpoint of [...database.all<Values>(ENDPOINTS, want), null]) {
      const expire = endpoint === null ? EXPIRE_EVENTS : EXPIRE_DELIVERIES
      if ((await database.write(() => database.run(expire, { ...want, ...endpoint }))) === want.max)
        isMore = true
      await nextTurn()
    }
    return isMore
  },
})
