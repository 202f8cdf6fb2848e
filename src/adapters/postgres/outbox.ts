import { unavailable, writeTooLate } from '../../core/engine/failures.ts'
import { isoTime, MINUTE_MS } from '../../core/engine/times.ts'
import type { NewEvent } from '../../core/ports/events.ts'
import type { Recorded } from '../../core/ports/world.ts'
import { COLUMNS } from '../stores/rows.ts'
import { byTenant, leadTenantOf } from './by-tenant.ts'
import { sqlStateOf } from './error-codes.ts'
import { type Fragment, joined, nothing, type Query, sql } from './sql.ts'
import { columns, textArray, unlessOvertaken } from './statements.ts'

/** How many tenants that use events are remembered. Beyond this number all are forgotten. */
const USERS_MAX = 10_000
const TRIES_MAX = 5

type OfTenant = { readonly tenantId: string }
/** How far a database's clock is ahead of ours, how far ours is ahead of the monotonic clock, and when this expires. */
type Clock = Record<'aheadMs' | 'apartMs' | 'until', number>
const apartMs = () => Date.now() - performance.now()
type OutboxOptions = {
  readonly everyEvent: boolean
  readonly lateMs: number
  /** On a cluster: the node of a tenant, if that is known. */
  readonly placeOf?: ((of: OfTenant) => string) | undefined
  readonly wrote: () => void
  readonly late: () => void
}
/** For a write that may save only some of its rows: the tenant of an event, and the `where` that selects its events. */
type Saved = { readonly tenantId: Fragment; readonly which: Fragment }
export type Outbox = {
  /**
   * Sends a write of rows with its events. `write` gets the part `noted as (insert into events …)`, or none, and a
   * condition: it is true, or divides by zero, so that nothing is saved. PostgreSQL evaluates it once. Refuses
   * `unavailable` if PostgreSQL begins more than `lateMs` after this was called.
   */
  readonly withEvents: <Answer>(
    rows: readonly OfTenant[],
    events: readonly NewEvent[] | undefined,
    write: (eventInserts: readonly Fragment[], assumptionHolds: Fragment) => Promise<Answer>,
    saved?: Saved,
  ) => Promise<Answer>
  /** Saves all or nothing: `with parts, eventInserts`, then `done`, which can take a `where` and then `tail`. */
  readonly record: (
    rows: readonly OfTenant[],
    events: readonly NewEvent[] | undefined,
    parts: readonly Fragment[],
    done: Fragment,
    tail?: Fragment,
  ) => Promise<Recorded>
}

const EVENTS = columns('event', COLUMNS.events)

/**
 * Events are written in the statement of their change, for tenants that use events: those with an enabled webhook
 * endpoint, or all with `everyEvent`. These tenants are remembered, and each statement checks that: for a tenant that
 * uses no events, by a look-up in a small index. If it is wrong, the tenants are looked up, and the write is retried.
 * Calls `wrote` after a commit with events, and `late` after a refused write: remembered data may be just as old.
 */
export const createOutbox = (
  query: Query,
  isCluster: boolean,
  { everyEvent, lateMs, placeOf = () => '', wrote, late }: OutboxOptions,
): Outbox => {
  const users = new Set<string>()
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

  /** Looks up which of the tenants use events. */
  const lookUp = async (rows: readonly OfTenant[]): Promise<readonly string[]> => {
    const found = await byTenant(isCluster, { rows }, (tenantId, its) => {
      return query(tenantId)<OfTenant>`
        select distinct w.tenant_id from webhook_endpoints w where ${isEnabledOf(tenantId !== null, idsOf(its.rows))}`
    })
    for (const id of idsOf(rows)) users.delete(id)
    if (users.size + found.length > USERS_MAX) users.clear()
    for (const { tenantId } of found) users.add(tenantId)
    return idsOf(found).sort()
  }

  const insertOf = (events: readonly NewEvent[], saved?: Saved) => {
    const rows = events.map(eventRow)
    if (saved === undefined) return EVENTS[leadTenantOf(isCluster, rows) === null ? 'into' : 'values'](rows)
    return sql`(${EVENTS.names}) select ${saved.tenantId}, ${OTHERS} from ${EVENTS.from(rows)} ${saved.which}`
  }

  const withEvents: Outbox['withEvents'] = async (rows, events = [], write, saved) => {
    const askedMs = Date.now()
    const lead = leadTenantOf(isCluster, rows)
    const { aheadMs } = knownClock(lead) ?? (await readClock(lead))
    const lateAtMs = askedMs + aheadMs + lateMs
    const isInTime = sql`1 / (statement_timestamp() < ${isoTime(lateAtMs)}::timestamptz)::int = 1`
    const tenantIds = events.length === 0 ? [] : idsOf(rows)
    for (let tries = 1; ; tries++) {
      const assumed = everyEvent ? tenantIds : tenantIds.filter((id) => users.has(id)).sort()
      const its = assumed.length === 0 ? [] : events.filter(({ tenantId }) => assumed.includes(tenantId))
      const eventInserts =
        its.length === 0 ? [] : [sql`noted as (insert into events ${insertOf(its, saved)})`]
      const isSure = everyEvent || events.length === 0
      const areThose = isSure
        ? nothing
        : sql`and ${areSubscribers(assumed, isEnabledOf(isCluster, tenantIds))}`
      try {
        const answer = await write(eventInserts, sql`${isInTime} ${areThose}`)
        if (eventInserts.length > 0) wrote()
        return answer
      } catch (error) {
        if (sqlStateOf(error) !== '22012') throw error
        if (!isSure && String(await lookUp(rows)) !== String(assumed)) {
          if (tries === TRIES_MAX) throw unavailable('Webhook endpoints are changing too often.', error)
          continue
        }
        const clock = await readClock(lead)
        // The write was in time: the statement divided by zero for another reason.
        if (Date.now() + clock.aheadMs < lateAtMs) throw error
        late()
        throw writeTooLate()
      }
    }
  }

  const record: Outbox['record'] = (rows, events, parts, done, tail = nothing) =>
    unlessOvertaken(
      withEvents(rows, events, (eventInserts, assumptionHolds) => {
        const all = [...parts, ...eventInserts]
        return query(leadTenantOf(isCluster, rows))`
          ${all.length === 0 ? nothing : sql`with ${joined(all, sql`, `)}`} ${done} where ${assumptionHolds} ${tail}`
      }),
    )
  return { withEvents, record }
}

/** Inserts an event even if its tenant does not use events. */
export const insertEvent = (event: NewEvent) => sql`insert into events ${EVENTS.values([eventRow(event)])}`

const eventRow = (event: NewEvent) => ({
  ...event,
  sequence: null,
  ids: { rawJson: JSON.stringify(event.ids) },
})
/** The columns besides the tenant. */
const OTHERS = sql`event.event_id, event.sequence, event.type, event.ids, event.api_key_id, event.created_at`

const idsOf = (rows: readonly OfTenant[]) => [...new Set(rows.map(({ tenantId }) => tenantId))]

const isEnabledOf = (isCluster: boolean, tenantIds: readonly string[]) =>
  isCluster && tenantIds.length === 1
    ? sql`w.tenant_id = ${tenantIds[0] ?? null} and w.status = 'enabled'`
    : sql`w.tenant_id = any (${textArray(tenantIds)}::text[]) and w.status = 'enabled'`

/** Condition that exactly the assumed tenants use events. */
const areSubscribers = (assumed: readonly string[], isEnabled: Fragment) =>
  assumed.length === 0
    ? sql`1 / (not exists (select 1 from webhook_endpoints w where ${isEnabled}))::int = 1`
    : sql`1 / (array(
        select distinct w.tenant_id from webhook_endpoints w where ${isEnabled} order by w.tenant_id
      ) = ${textArray(assumed)}::text[])::int = 1`
