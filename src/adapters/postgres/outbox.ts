import { writeDecidedMs } from '../../core/engine/decide-and-save.ts'
import { writeTooLate } from '../../core/engine/failures.ts'
import { isoTime, MINUTE_MS, stopwatch } from '../../core/engine/times.ts'
import type { NewEvent } from '../../core/ports/events.ts'
import type { Recorded } from '../../core/ports/world.ts'
import { COLUMNS } from '../stores/rows.ts'
import { NOT_AS_ASSUMED, sqlStateOf } from './error-codes.ts'
import { ifOvertaken } from './overtaken.ts'
import { columns, type Piece, piece, type Query } from './sql.ts'

export const EVENT = columns('event', COLUMNS.events)
export const eventRow = (event: NewEvent) => ({
  ...event,
  sequence: null,
  ids: { rawJson: JSON.stringify(event.ids) },
})

/**
 * One more part of the statement of a change: its events, if the part `changed` has a row and the tenant uses events.
 * It does if it has an enabled webhook endpoint, or if every tenant does. A scalar subquery reads the endpoints of one
 * tenant; for `exists` the planner may collect those of all tenants.
 */
const newEvents =
  (everyEvent: boolean) =>
  (events: readonly NewEvent[] = []): Piece =>
    piece`
    new_events as (
      insert into events (${EVENT.names})
      select ${EVENT.values} from ${EVENT.from(events.map(eventRow))}
      where exists (select 1 from changed) and (${everyEvent} or (
        select true from webhook_endpoints w where w.tenant_id = event.tenant_id and w.status = 'enabled' limit 1
      ))
      returning 1
    )`

/** Rows of a write. `events` is how many events it added. */
type Written = { readonly events: number }
type Send<Row> = (query: ReturnType<Query>, isInTime: Piece) => Promise<readonly (Row & Written)[]>
type OutboxOptions = {
  readonly everyEvent: boolean
  readonly lateMs: number
  readonly wrote: () => void
  readonly late: () => void
}
export type Outbox = {
  /**
   * Sends a statement that changes something. It must end with `where ${isInTime}`, or another such condition, and return
   * the number of its new events with each row. Refuses `unavailable` if PostgreSQL begins `lateMs` after the decision or later.
   */
  readonly write: <Row extends object>(send: Send<Row>) => Promise<readonly Row[]>
  /** The same: recorded if it returns a row, overtaken if it returns none or another writer was faster. */
  readonly record: (send: Send<object>) => Promise<Recorded>
  readonly newEvents: (events?: readonly NewEvent[]) => Piece
  readonly everyEvent: boolean
}

/** How far a database's clock is ahead of our stopwatch, how far that is ahead of the monotonic clock, and when this expires. */
type Clock = Record<'aheadMs' | 'leadMs' | 'until', number>
const leadMs = () => stopwatch() - performance.now()

/** Calls `wrote` after a commit with events, and `late` after a write that came too late: what is remembered may be as old. */
export const createOutbox = (query: Query, { everyEvent, lateMs, wrote, late }: OutboxOptions): Outbox => {
  let clock: Clock | undefined

  /**
   * The clock of a database may differ from ours by minutes. It is read every minute, after ours was set and after
   * a refusal. A process suspended during the read assumes that it is behind, and refuses too many writes.
   */
  const readClock = async (): Promise<Clock> => {
    const [read] = await query()<{ now: string }>`select statement_timestamp() as now`
    const aheadMs = Date.parse(read?.now ?? '') - stopwatch()
    clock = { aheadMs, leadMs: leadMs(), until: performance.now() + MINUTE_MS }
    return clock
  }
  const knownClock = (): Clock | undefined => {
    const isKnown = clock && performance.now() < clock.until && leadMs() - clock.leadMs < 1_000
    return isKnown ? clock : undefined
  }

  const write: Outbox['write'] = async (send) => {
    const decidedMs = writeDecidedMs()
    const { aheadMs } = knownClock() ?? (await readClock())
    const lateAtMs = decidedMs + aheadMs + lateMs
    try {
      const isInTime = piece`required(statement_timestamp() < ${isoTime(lateAtMs)}::timestamptz)`
      const rows = await send(query(), isInTime)
      if (rows[0]?.events) wrote()
      return rows
    } catch (error) {
      if (!NOT_AS_ASSUMED.has(sqlStateOf(error))) throw error
      const { aheadMs } = await readClock()
      // The write was in time: a clock was set.
      if (stopwatch() + aheadMs < lateAtMs) throw error
      late()
      throw writeTooLate()
    }
  }

  return {
    write,
    record: (send) =>
      write(send).then(
        (rows) => (rows.length > 0 ? 'recorded' : 'overtaken'),
        ifOvertaken<Recorded>('overtaken'),
      ),
    newEvents: newEvents(everyEvent),
    everyEvent,
  }
}
