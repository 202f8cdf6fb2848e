import { unavailable } from '../../core/engine/failures.ts'
import type { NewEvent } from '../../core/ports/events.ts'
import type { Recorded } from '../../core/ports/world.ts'
import { COLUMNS } from '../stores/rows.ts'
import { byTenant, leadTenantOf } from './by-tenant.ts'
import { sqlStateOf } from './error-codes.ts'
import { type Fragment, joined, nothing, type Query, sql } from './sql.ts'
import { columns, textArray, unlessOvertaken } from './statements.ts'

/** Tenants that are remembered to use events. Beyond this number all are forgotten. */
const USERS_MAX = 10_000
const TRIES_MAX = 5

type OfTenant = { readonly tenantId: string }
/** If a write may save only some of its rows, which rows of `event` to insert: what follows the `from`. */
type Saved = { readonly tenantId: Fragment; readonly which: Fragment }
export type Outbox = {
  /**
   * Sends a write of rows with its events. `write` gets the part `noted as (insert into events …)`, or none, and a
   * condition: true, or it divides by zero, and then nothing is saved. PostgreSQL evaluates it once.
   */
  readonly withEvents: <Answer>(
    rows: readonly OfTenant[],
    events: readonly NewEvent[] | undefined,
    write: (eventInserts: readonly Fragment[], assumptionHolds: Fragment) => Promise<Answer>,
    saved?: Saved,
    triesMax?: number,
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
 * endpoint, or all with `everyEvent`. Which tenants those are is remembered, and each statement checks it: for one that
 * uses no events, by a look into a small index. If it is wrong, the tenants are looked up, and the write is tried again.
 * Calls `wrote` after a commit with events.
 */
export const createOutbox = (
  query: Query,
  isCluster: boolean,
  everyEvent: boolean,
  wrote: () => void,
): Outbox => {
  const users = new Set<string>()

  /** Those of the tenants that use events. */
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

  const withEvents: Outbox['withEvents'] = async (rows, events, write, saved, triesMax = TRIES_MAX) => {
    if (!events?.length) return write([], ALWAYS)
    const tenantIds = idsOf(rows)
    const assumed = everyEvent ? tenantIds : tenantIds.filter((id) => users.has(id)).sort()
    const its = assumed.length === 0 ? [] : events.filter(({ tenantId }) => assumed.includes(tenantId))
    const eventInserts = its.length === 0 ? [] : [sql`noted as (insert into events ${insertOf(its, saved)})`]
    const isEnabled = isEnabledOf(isCluster, tenantIds)
    try {
      const answer = await write(eventInserts, everyEvent ? ALWAYS : areSubscribers(assumed, isEnabled))
      if (eventInserts.length > 0) wrote()
      return answer
    } catch (error) {
      if (everyEvent || sqlStateOf(error) !== '22012') throw error
      // The assumption held: the statement divided by zero for another reason.
      if (String(await lookUp(rows)) === String(assumed)) throw error
      if (triesMax === 1) throw unavailable('Webhook endpoints are changing too often.', error)
      return withEvents(rows, events, write, saved, triesMax - 1)
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

/** That of some tenants exactly those assumed use events. */
const areSubscribers = (assumed: readonly string[], isEnabled: Fragment) =>
  assumed.length === 0
    ? sql`1 / (not exists (select 1 from webhook_endpoints w where ${isEnabled}))::int = 1`
    : sql`1 / (array(
        select distinct w.tenant_id from webhook_endpoints w where ${isEnabled} order by w.tenant_id
      ) = ${textArray(assumed)}::text[])::int = 1`
const ALWAYS = sql`true`
