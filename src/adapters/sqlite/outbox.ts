import { memoized } from '../../core/engine/memoized.ts'
import { eventsOfLog } from '../../core/events/new-event.ts'
import type { NewLog } from '../../core/ports/activities.ts'
import type { NewEvent } from '../../core/ports/events.ts'
import { COLUMNS } from '../stores/rows.ts'
import type { Database } from './open.ts'
import { insertInto } from './statements.ts'

const USES_EVENTS = "select 1 from webhook_endpoints where tenant_id = :tenantId and status = 'enabled'"
const ADD = insertInto('events', COLUMNS.events)

type AddEvents = (events: readonly NewEvent[] | undefined, logs?: readonly NewLog[]) => void
export type Outbox = {
  /** Within `write`, saves the events of a change, and those of its logs, for tenants that use events. */
  readonly add: AddEvents
  /** For one transaction with several changes: looks up once whether a tenant uses events. */
  readonly ofTransaction: () => AddEvents
}

/** Calls `added` within the transaction that adds events. */
export const sqliteOutbox = (database: Database, everyEvent: boolean, added: () => void): Outbox => {
  const ofTransaction = (): AddEvents => {
    const usesEvents = memoized((tenantId: string) => everyEvent || database.has(USES_EVENTS, { tenantId }))
    return (events = [], logs = []) => {
      const ofLogs = logs.filter(({ tenantId }) => usesEvents(tenantId)).flatMap(eventsOfLog)
      const saved = [...ofLogs, ...events.filter(({ tenantId }) => usesEvents(tenantId))]
      for (const event of saved) addEvent(database, event)
      if (saved.length > 0) added()
    }
  }
  return { add: (events, logs) => ofTransaction()(events, logs), ofTransaction }
}

export const addEvent = (database: Database, event: NewEvent): void => {
  database.run(ADD, { ...event, sequence: null, ids: JSON.stringify(event.ids) })
}
