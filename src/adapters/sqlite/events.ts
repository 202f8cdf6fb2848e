import { setImmediate } from 'node:timers/promises'
import type { Events } from '../../core/ports/events.ts'
import type { Signal } from '../../core/ports/store.ts'
import { COLUMNS, type EventRow, storedEvent } from '../stores/rows.ts'
import { eventsAtOnce } from '../stores/subscribed-endpoints.ts'
import { ADD_DELIVERY, EXPIRE_DELIVERIES } from './deliveries.ts'
import { type EndpointRow, subscribedEndpoints } from './endpoint-rows.ts'
import type { Database } from './open.ts'
import type { Values } from './statements.ts'

const EVENT = Object.keys(COLUMNS.events)
const ENABLED = `
  select webhook_endpoint_id, types, sources, log_types from webhook_endpoints
  where tenant_id = :tenantId and status = 'enabled'`
/** From one tenant to the next along the index of events without a number. */
const TENANTS_WAITING = `
  with recursive t (tenant_id) as (
    select :afterTenantId
    union all
    select (select min(tenant_id) from events where sequence is null and tenant_id > t.tenant_id)
    from t where tenant_id is not null
  )
  select tenant_id from t where tenant_id > :afterTenantId limit :max`
// Without statistics SQLite would go through all events of the tenant.
const WAITING = `
  select ${EVENT} from events indexed by events_waiting
  where tenant_id = :tenantId and sequence is null order by event_id limit :max`
const COUNT = `
  insert into event_counts (tenant_id, sequence) values (:tenantId, :more)
  on conflict (tenant_id) do update set sequence = sequence + excluded.sequence returning sequence`
const NUMBER = 'update events set sequence = :sequence where tenant_id = :tenantId and event_id = :eventId'
const LIST = `
  select ${EVENT} from events where tenant_id = :tenantId and sequence > :afterSequence
  order by sequence limit :limit`
const LAST = 'select sequence from event_counts where tenant_id = :tenantId'
const FIND = `
  select ${EVENT} from events where tenant_id = :tenantId and event_id = :eventId and sequence is not null`
const ENDPOINTS = 'select webhook_endpoint_id from webhook_endpoints where tenant_id = :tenantId'
const EXPIRE_EVENTS = `
  delete from events where tenant_id = :tenantId and event_id in (
    select event_id from events where tenant_id = :tenantId and event_id < :beforeEventId
    order by event_id limit :max
  ) and sequence is not null`

/** Calls `emit` within the transaction that numbers events or adds deliveries. */
export const sqliteEvents = (database: Database, emit: (signal: Signal) => void): Events => ({
  waiting: async (afterTenantId, max) =>
    database
      .all<{ tenantId: string }>(TENANTS_WAITING, { afterTenantId, max })
      .map(({ tenantId }) => tenantId),

  number: (lookup) =>
    database.write(() => {
      const enabled = database.all<EndpointRow>(ENABLED, lookup)
      const max = eventsAtOnce(enabled.length, lookup.max)
      const events = database.all<EventRow>(WAITING, { ...lookup, max }).map(storedEvent)
      if (events.length === 0) return 0
      const endpointsFor = subscribedEndpoints(database, enabled)
      const count = database.get<{ sequence: number }>(COUNT, { ...lookup, more: events.length })
      const before = Number(count?.sequence) - events.length
      let added = 0
      for (const [i, event] of events.entries()) {
        const { tenantId, eventId } = event
        database.run(NUMBER, { tenantId, eventId, sequence: before + i + 1 })
        for (const { webhookEndpointId } of endpointsFor(event)) {
          added += database.run(ADD_DELIVERY, { ...lookup, eventId, webhookEndpointId })
        }
      }
      if (added > 0) emit('deliveries')
      emit(`numbered ${lookup.tenantId}`)
      return events.length
    }),

  list: async (lookup) =>
    database.read(() => {
      const rows = database.all<EventRow>(LIST, lookup).map(storedEvent)
      return { rows, last: database.get<{ sequence: number }>(LAST, lookup)?.sequence ?? 0 }
    }),

  find: async (lookup) => {
    const row = database.get<EventRow>(FIND, lookup)
    return row && storedEvent(row)
  },

  // Deliveries go first, so that none is left without its event. Other writes can run in between.
  expire: async (lookup) => {
    let isMore = false
    const expire = async (sql: string, values: Values): Promise<void> => {
      const expired = await database.write(() => database.run(sql, values))
      if (expired === lookup.max) isMore = true
      await setImmediate()
    }
    for (const endpoint of database.all<Values>(ENDPOINTS, lookup)) {
      await expire(EXPIRE_DELIVERIES, { ...lookup, ...endpoint })
    }
    await expire(EXPIRE_EVENTS, lookup)
    return isMore
  },
})
