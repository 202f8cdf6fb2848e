import { setTimeout as pause } from 'node:timers/promises'
import type { NewEvent } from '../../core/ports/events.ts'
import type { Recorded } from '../../core/ports/world.ts'
import { EVENT, eventRow } from '../postgres/outbox.ts'
import { ifOvertaken } from '../postgres/overtaken.ts'
import { textArray } from '../postgres/sql.ts'
import type { Send, Transact } from './transaction.ts'

export type Outbox = {
  /** Whether every tenant uses events, with webhook endpoints or without. */
  readonly everyEvent: boolean
  /**
   * Saves a change of one tenant with its events, in a transaction at its node. `run` returns whether there is something to
   * save. If not, or if another writer was faster, this pauses for a moment, before the caller tries again.
   */
  readonly change: (
    tenantId: string,
    events: readonly NewEvent[] | undefined,
    run: (send: Send) => Promise<boolean>,
  ) => Promise<Recorded>
  /** The tenants that use events: those with an enabled webhook endpoint, or all if so configured. */
  readonly usersOf: (send: Send, tenantIds: readonly string[]) => Promise<ReadonlySet<string>>
  /** Adds events, in a transaction. */
  readonly add: (send: Send, events: readonly NewEvent[]) => void
  /** Waits for a transaction that returns whether it added events, and announces them. */
  readonly announce: <Saved extends { readonly hasEvents: boolean }>(saving: Promise<Saved>) => Promise<Saved>
}

const PAUSE_MS_MAX = 10
/** Random, so that processes which change the same row do not keep overtaking each other. */
const pauseAfterConflict = () => pause(Math.random() * PAUSE_MS_MAX)

/** Events are written in the transaction of their change. Calls `onEvents` after a commit with events. */
export const createOutbox = (transact: Transact, everyEvent: boolean, onEvents: () => void): Outbox => {
  const usersOf: Outbox['usersOf'] = async (send, tenantIds) => {
    if (everyEvent || tenantIds.length === 0) return new Set(tenantIds)
    const [only] = tenantIds
    const rows =
      tenantIds.length === 1
        ? await send<{ tenantId: string }>`
            select w.tenant_id from webhook_endpoints w where w.tenant_id = ${only ?? ''} and w.status = 'enabled' limit 1`
        : await send<{ tenantId: string }>`
            select w.tenant_id from webhook_endpoints w
            where w.tenant_id = any (${textArray(tenantIds)}::text[]) and w.status = 'enabled'`
    return new Set(rows.map(({ tenantId }) => tenantId))
  }
  const add: Outbox['add'] = (send, events) => {
    send`
      insert into events (${EVENT.names}) select ${EVENT.values} from ${EVENT.from(events.map(eventRow))}`
  }
  const announce: Outbox['announce'] = async (saving) => {
    const saved = await saving
    if (saved.hasEvents) onEvents()
    return saved
  }
  return {
    everyEvent,
    usersOf,
    add,
    announce,
    change: async (tenantId, events = [], run) => {
      const saving = transact(tenantId, async (send) => {
        const [isChanged, users] = await Promise.all([
          run(send),
          usersOf(send, events.length > 0 ? [tenantId] : []),
        ])
        const hasEvents = isChanged && users.has(tenantId)
        if (hasEvents) add(send, events)
        return { isChanged, hasEvents }
      })
      const overtaken = { isChanged: false, hasEvents: false }
      const { isChanged } = await announce(saving.catch(ifOvertaken(overtaken)))
      if (isChanged) return 'recorded'
      await pauseAfterConflict()
      return 'overtaken'
    },
  }
}
