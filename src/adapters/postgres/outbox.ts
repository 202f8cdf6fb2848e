import { writeTooLate } from '../../core/engine/failures.ts'
import { isoTime, MINUTE_MS } from '../../core/engine/times.ts'
import type { NewEvent } from '../../core/ports/events.ts'
import type { Recorded } from '../../core/ports/world.ts'
import { COLUMNS } from '../stores/rows.ts'
import { sqlStateOf } from './error-codes.ts'
import type { Forms } from './forms.ts'
import { type Fragment, joined, nothing, type Query, sql } from './sql.ts'
import { columns, ifOvertaken, textArray, unlessOvertaken } from './statements.ts'

type OfTenant = { readonly tenantId: string }
/** How far a database's clock is ahead of ours, how far ours is ahead of the monotonic clock, and when this expires. */
type Clock = Record<'aheadMs' | 'apartMs' | 'until', number>
const apartMs = () => Date.now() - performance.now()
type OutboxOptions = {
  readonly everyEvent: boolean
  readonly lateMs: number
  readonly wrote: () => void
  readonly late: () => void
}
type Send = ReturnType<Query>
export type Outbox = {
  /**
   * Sends a write of rows with its events. `write` gets the part `noted as (insert into events …)`, or none, and a
   * condition: it is true, or divides by zero, so that nothing is saved. PostgreSQL evaluates it once. `which` is one
   * more condition on each `event`. Refuses `unavailable` if PostgreSQL begins more than `lateMs` after this was called.
   */
  readonly withEvents: <Answer>(
    rows: readonly OfTenant[],
    events: readonly NewEvent[] | undefined,
    write: (send: Send, noted: readonly Fragment[], isInTime: Fragment) => Promise<Answer>,
    which?: Fragment,
  ) => Promise<Answer>
  /** Saves all or nothing: `with parts, events`, then `done`, which can take a `where` and then `tail`. */
  readonly record: (
    rows: readonly OfTenant[],
    events: readonly NewEvent[] | undefined,
    parts: readonly Fragment[],
    done: Fragment,
    tail?: Fragment,
  ) => Promise<Recorded>
  /** Saves parts of which one is `changed`, and the events, if `changed` has a row. The other parts must check that. */
  readonly change: (
    row: OfTenant,
    events: readonly NewEvent[] | undefined,
    parts: readonly Fragment[],
  ) => Promise<Recorded>
}

const EVENTS = columns('event', COLUMNS.events)

/**
 * Events are written in the statement of their change, for tenants that use events: those with an enabled webhook
 * endpoint, or all with `everyEvent`.
 * Calls `wrote` after a commit with events, and `late` after a refused write: remembered data may be just as old.
 */
export const createOutbox = (
  query: Query,
  { leadOf, placeOf }: Forms,
  { everyEvent, lateMs, wrote, late }: OutboxOptions,
): Outbox => {
  const clocks = new Map<string, Clock>()

  /**
   * The clock of a database or of a node may differ from ours by minutes. It is read every minute, after ours was set,
   * and after a refusal. A process that is suspended during the read assumes that it is behind, and refuses too many
   * writes.
   */
  const readClock = async (tenantId: string | null): Promise<Clock> => {
    const [read] = await query(tenantId)<{ now: string }>`select statement_timestamp() as now`
    const aheadMs = Date.parse(read?.now ?? '') - Date.now()
    const clock = { aheadMs, apartMs: apartMs(), until: performance.now() + MINUTE_MS }
    clocks.set(placeOf({ tenantId: tenantId ?? '' }), clock)
    return clock
  }
  const knownClock = (tenantId: string | null): Clock | undefined => {
    const clock = clocks.get(placeOf({ tenantId: tenantId ?? '' }))
    const isKnown = clock && performance.now() < clock.until && Math.abs(apartMs() - clock.apartMs) < 1_000
    return isKnown ? clock : undefined
  }

  const withEvents: Outbox['withEvents'] = async (rows, events = [], write, which = nothing) => {
    const askedMs = Date.now()
    const lead = leadOf(rows)
    const { aheadMs } = knownClock(lead) ?? (await readClock(lead))
    const lateAtMs = askedMs + aheadMs + lateMs
    const isInTime = sql`1 / (statement_timestamp() < ${isoTime(lateAtMs)}::timestamptz)::int = 1`
    const isUsed = everyEvent ? sql`true` : usesEvents(events)
    const noted =
      events.length === 0 ? [] : [sql`noted as (${insertEvents(events, sql`${isUsed} ${which}`)})`]
    try {
      const answer = await write(query(lead), noted, isInTime)
      if (events.length > 0) wrote()
      return answer
    } catch (error) {
      if (sqlStateOf(error) !== '22012') throw error
      const clock = await readClock(lead)
      // The write was in time: the statement divided by zero for another reason.
      if (Date.now() + clock.aheadMs < lateAtMs) throw error
      late()
      throw writeTooLate()
    }
  }

  return {
    withEvents,
    record: (rows, events, parts, done, tail = nothing) =>
      unlessOvertaken(
        withEvents(rows, events, (send, noted, isInTime) => {
          const all = [...parts, ...noted]
          return send`
            ${all.length === 0 ? nothing : sql`with ${joined(all, sql`, `)}`} ${done} where ${isInTime} ${tail}`
        }),
      ),
    change: async (row, events, parts) => {
      const written = withEvents(
        [row],
        events,
        (send, noted, isInTime) => send`
          with ${joined([...parts, ...noted], sql`, `)} select 1 as done from changed where ${isInTime}`,
        AND_CHANGED,
      )
      return (await written.catch(ifOvertaken([]))).length > 0 ? 'recorded' : 'overtaken'
    },
  }
}

/** Ends the condition of a part that is saved only if the part `changed` has a row. */
export const AND_CHANGED = sql`and exists (select 1 from changed)`

export const insertEvents = (events: readonly NewEvent[], which: Fragment) => sql`
  insert into events (${EVENTS.names})
  select ${EVENTS.listed} from ${EVENTS.fromShortest(events.map(eventRow))} where ${which}`

const eventRow = (event: NewEvent) => ({
  ...event,
  sequence: null,
  ids: { rawJson: JSON.stringify(event.ids) },
})

/** Whether the tenant of an event has an enabled endpoint. */
const usesEvents = (events: readonly OfTenant[]) => sql`
  event.tenant_id in (
    select w.tenant_id from webhook_endpoints w
    where w.tenant_id = any (${textArray([...new Set(events.map(({ tenantId }) => tenantId))])}::text[])
      and w.status = 'enabled'
  )`
