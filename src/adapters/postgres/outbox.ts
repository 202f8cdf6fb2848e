import { setTimeout as pause } from 'node:timers/promises'
import type { NewEvent } from '../../core/ports/events.ts'
import type { Recorded } from '../../core/ports/world.ts'
import { COLUMNS } from '../stores/rows.ts'
import { ifOvertaken } from './overtaken.ts'
import { columns, type Piece, piece } from './sql.ts'

export const EVENT = columns('event', COLUMNS.events)
export const eventRow = (event: NewEvent) => ({
  ...event,
  sequence: null,
  ids: { rawJson: JSON.stringify(event.ids) },
})

/** In each row of a write: how many events it added. */
export type Events = { readonly events: number }
export type Outbox = {
  /** Whether every tenant uses events, with webhook endpoints or without. */
  readonly everyEvent: boolean
  /**
   * One more part of the statement of a change: its events, if the part `changed` has a row and the tenant uses events.
   * It does if it has an enabled webhook endpoint, or if every tenant does. A scalar subquery reads the endpoints of one
   * tenant; for `exists` the planner may collect those of all tenants.
   */
  readonly newEvents: (events?: readonly NewEvent[]) => Piece
  /** Waits for the rows of a write, and announces its events. */
  readonly announce: <Row extends Events>(written: Promise<readonly Row[]>) => Promise<readonly Row[]>
  /**
   * Waits for a write, announces its events, and returns whether it was recorded: not if it returned no row, or if
   * another writer was faster. Then this pauses for a moment, before the caller tries again.
   */
  readonly confirm: (written: Promise<readonly Events[]>) => Promise<Recorded>
}

const PAUSE_MS_MAX = 10
/** Random, so that processes which change the same row do not keep overtaking each other. */
const pauseAfterConflict = () => pause(Math.random() * PAUSE_MS_MAX)

/** Events are written in the statement of their change. Calls `onEvents` after a commit with events. */
export const createOutbox = (everyEvent: boolean, onEvents: () => void): Outbox => {
  const announceRows = <Row extends Events>(rows: readonly Row[]): readonly Row[] => {
    if (rows[0]?.events) onEvents()
    return rows
  }
  return {
    everyEvent,
    newEvents: (events = []) => piece`
      new_events as (
        insert into events (${EVENT.names})
        select ${EVENT.values} from ${EVENT.fromFew(events.map(eventRow))}
        where exists (select 1 from changed) and (${everyEvent} or (
          select true from webhook_endpoints w where w.tenant_id = event.tenant_id and w.status = 'enabled' limit 1
        ))
        returning 1
      )`,
    announce: (written) => written.then(announceRows),
    confirm: async (written) => {
      const rows = await written.catch(ifOvertaken([]))
      if (announceRows(rows).length > 0) return 'recorded'
      await pauseAfterConflict()
      return 'overtaken'
    },
  }
}
