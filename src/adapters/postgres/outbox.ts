import { writeTooLate } from '../../core/engine/failures.ts'
import { isoTime, MINUTE_MS } from '../../core/engine/times.ts'
import type { NewEvent } from '../../core/ports/events.ts'
import type { Recorded } from '../../core/ports/world.ts'
import { COLUMNS } from '../stores/rows.ts'
import { NOT_AS_ASSUMED, sqlStateOf } from './error-codes.ts'
import type { Forms, Saved } from './forms.ts'
import {
  columns,
  type Fragment,
  ifOvertaken,
  joined,
  nothing,
  type Query,
  sql,
  textArray,
  unlessOvertaken,
} from './sql.ts'

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
export type Outbox = {
  /**
   * Sends `with parts, new_events select answer`, where `new_events` inserts the events of what was saved, and returns the rows.
   * `answer` can take a `where`. Refuses `unavailable` if PostgreSQL begins more than
   * `lateMs` after this was called.
   */
  readonly write: <Row extends object>(
    rows: readonly OfTenant[],
    events: readonly NewEvent[] | undefined,
    parts: readonly Fragment[],
    answer: Fragment,
    saved?: Saved,
  ) => Promise<readonly (Row & { readonly hasEvents?: boolean })[]>
  /** Saves all of these parts and the events, or nothing. */
  readonly record: (
    rows: readonly OfTenant[],
    events: readonly NewEvent[] | undefined,
    parts: readonly Fragment[],
    done?: Fragment,
  ) => Promise<Recorded>
  /** Saves parts of which one is `changed`, and the events, if `changed` has a row. The other parts must check that. */
  readonly change: (
    row: OfTenant,
    events: readonly NewEvent[] | undefined,
    parts: readonly Fragment[],
    /** Reads parts in the order in which they must run. */
    read?: Fragment,
  ) => Promise<Recorded>
}

const EVENTS = columns('event', COLUMNS.events)
const QUIET_MAX = 10_000

/**
 * Events are written in the statement of their change, for tenants that use events: those with an enabled webhook
 * endpoint, or all with `everyEvent`.
 * Calls `wrote` after a commit with events, and `late` after a refused write: remembered data may be just as old.
 */
export const createOutbox = (
  query: Query,
  { leadOf, placeOf, required, saved: savedBy }: Forms,
  { everyEvent, lateMs, wrote, late }: OutboxOptions,
): Outbox => {
  const clocks = new Map<string, Clock>()
  /**
   * Tenants that used no events when last seen. Theirs are not even sent, which would cost as much as the change; if an
   * endpoint was enabled since, the statement saves nothing and is sent again, with the events.
   */
  const quiet = new Set<string>()
  const noteQuiet = (tenants: readonly string[]): void => {
    if (quiet.size >= QUIET_MAX) quiet.clear()
    for (const tenantId of tenants) quiet.add(tenantId)
  }

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

  const send = async (
    askedMs: number,
    ...[rows, events = [], parts, answer, saved = ALL]: Parameters<Outbox['write']>
  ): Promise<never> => {
    const { each, all: areAll } = savedBy(saved)
    const lead = leadOf(rows)
    const { aheadMs } = knownClock(lead) ?? (await readClock(lead))
    const lateAtMs = askedMs + aheadMs + lateMs
    const tenants = [...new Set(events.map(({ tenantId }) => tenantId))]
    const areQuiet = !everyEvent && tenants.every((tenantId) => quiet.has(tenantId))
    const isInTime = sql`statement_timestamp() < ${isoTime(lateAtMs)}::timestamptz`
    const isQuiet = areQuiet && tenants.length > 0 ? sql`and not exists (${subscribers(tenants)})` : nothing
    const isUsed = everyEvent ? sql`true` : sql`event.tenant_id in (${subscribers(tenants)})`
    const newEvents = () => sql`new_events as (${insertEvents(events, sql`${isUsed} and ${each}`)})`
    const all = areQuiet ? parts : [...parts, newEvents()]
    const isNoted = everyEvent ? sql`true` : sql`exists (${subscribers(tenants)})`
    const noting = areQuiet ? nothing : sql`${isNoted} as has_events,`
    try {
      const written = await query(lead)<{ hasEvents?: boolean }>`
        ${all.length === 0 ? nothing : sql`with ${joined(all, sql`, `)}`} select ${noting} ${answer}
        where ${required(sql`${isInTime} ${isQuiet}`)} and ${areAll}`
      if (written[0]?.hasEvents) wrote()
      else if (written[0]?.hasEvents === false) noteQuiet(tenants)
      return written as never
    } catch (error) {
      if (!NOT_AS_ASSUMED.has(sqlStateOf(error))) throw error
      if (areQuiet && tenants.length > 0) {
        for (const tenantId of tenants) quiet.delete(tenantId)
        return send(askedMs, rows, events, parts, answer, saved)
      }
      const clock = await readClock(lead)
      // The write was in time: the clock was set.
      if (Date.now() + clock.aheadMs < lateAtMs) throw error
      late()
      throw writeTooLate()
    }
  }
  const write: Outbox['write'] = (...written) => send(Date.now(), ...written)

  return {
    write,
    record: (rows, events, parts, done = sql`1 as done`) => unlessOvertaken(write(rows, events, parts, done)),
    change: async (row, events, parts, read = sql`0`) => {
      const written = write([row], events, parts, sql`${read} as done from changed`, CHANGED)
      return (await written.catch(ifOvertaken([]))).length > 0 ? 'recorded' : 'overtaken'
    },
  }
}

/** The condition of a part that is saved only if the part `changed` has a row. */
export const IS_CHANGED = sql`exists (select 1 from changed)`
/** Ends such a condition. */
export const AND_CHANGED = sql`and ${IS_CHANGED}`
export const CHANGED: Saved = { each: IS_CHANGED, all: IS_CHANGED }
const ALL: Saved = { each: sql`true`, all: sql`true` }

export const insertEvents = (events: readonly NewEvent[], which: Fragment) => sql`
  insert into events (${EVENTS.names})
  select ${EVENTS.listed} from ${EVENTS.fromShortest(events.map(eventRow))} where ${which}`

const eventRow = (event: NewEvent) => ({
  ...event,
  sequence: null,
  ids: { rawJson: JSON.stringify(event.ids) },
})

/** The tenants among these that use events. */
const subscribers = (tenants: readonly string[]) => sql`
  select w.tenant_id from webhook_endpoints w
  where w.tenant_id = any (${textArray(tenants)}::text[]) and w.status = 'enabled'`
