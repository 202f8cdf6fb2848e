import type { NewEvent } from '../../core/ports/events.ts'
import type { Recorded } from '../../core/ports/world.ts'
import { COLUMNS } from '../stores/rows.ts'
import type { Forms, OfTenant, Saved } from './forms.ts'
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

type OutboxOptions = {
  readonly everyEvent: boolean
  readonly wrote: () => void
}
export type Outbox = {
  /**
   * Sends `with parts, new_events select answer where …`, where `new_events` inserts the events of what was saved, and
   * returns the rows. `answer` brings no `where`. Of `rows` only the tenants are read. `derived` selects more
   * events from the parts.
   */
  readonly write: <Row extends object>(
    rows: readonly OfTenant[],
    events: readonly NewEvent[] | undefined,
    parts: readonly Fragment[],
    answer: Fragment,
    saved?: Saved,
    derived?: Fragment,
  ) => Promise<readonly (Row & { readonly hasEvents?: boolean })[]>
  /** Saves all of these parts and the events, or nothing. */
  readonly record: (
    rows: readonly OfTenant[],
    events: readonly NewEvent[] | undefined,
    parts: readonly Fragment[],
    done?: Fragment,
    derived?: Fragment,
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

export const EVENTS = columns('event', COLUMNS.events)

/**
 * Events are written in the statement of their change, for tenants that use events: those with an enabled webhook
 * endpoint, or all with `everyEvent`.
 * Calls `wrote` after a commit with events.
 */
export const createOutbox = (
  query: Query,
  { leadOf, inserted, saved: savedBy, used }: Forms,
  { everyEvent, wrote }: OutboxOptions,
): Outbox => {
  const write: Outbox['write'] = async (rows, proposed = [], parts, answer, saved = ALL, derived) => {
    const { each, all: areAll } = savedBy(saved)
    const events = used ? await used(proposed) : proposed
    const lead = leadOf(rows)
    const of = derived ? rows : events
    const isUsed = everyEvent ? sql`true` : sql`event.tenant_id in (${subscribers(of)})`
    const added = () => inserted(EVENTS, events.map(eventRow), sql`${isUsed} and ${each}`)
    const all = [...parts]
    if (events.length > 0) all.push(sql`new_events as (insert into events ${added()})`)
    if (derived) all.push(sql`derived as (insert into events (${EVENTS.names}) ${derived} where ${isUsed})`)
    const noted = everyEvent ? sql`true as has_events,` : sql`exists (${subscribers(of)}) as has_events,`
    const written = await query(lead)<{ hasEvents?: boolean }>`
      ${all.length === 0 ? nothing : sql`with ${joined(all, sql`, `)}`} select ${of.length === 0 ? nothing : noted} ${answer}
      where ${areAll}`
    if (written[0]?.hasEvents) wrote()
    return written as never
  }

  return {
    write,
    record: (rows, events, parts, done = sql`1 as done`, derived) =>
      unlessOvertaken(write(rows, events, parts, done, ALL, derived)),
    change: async (row, events, parts, read = sql`0`) => {
      const written = write([row], events, parts, sql`${read} as done from changed`, CHANGED)
      return (await written.catch(ifOvertaken([]))).length > 0 ? 'recorded' : 'overtaken'
    },
  }
}

/** The condition of a part that is saved only if the part `changed` has a row. */
export const IS_CHANGED = sql`exists (select 1 from changed)`
/** The same, after other conditions. */
export const AND_CHANGED = sql`and ${IS_CHANGED}`
const CHANGED: Saved = { each: IS_CHANGED, all: IS_CHANGED }
const ALL: Saved = { each: sql`true`, all: sql`true` }

export const eventRow = (event: NewEvent) => ({
  ...event,
  sequence: null,
  ids: { rawJson: JSON.stringify(event.ids) },
})

/** The tenants of these events that use events. */
export const subscribers = (events: readonly OfTenant[]) => sql`
  select w.tenant_id from webhook_endpoints w
  where w.tenant_id = any (${textArray([...new Set(events.map(({ tenantId }) => tenantId))])}::text[])
    and w.status = 'enabled'`
