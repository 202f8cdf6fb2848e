import { ERASURE_NAMES_MAX, type Erasures } from '../../core/ports/erasures.ts'
import type { IdentifierKind, StoredIdentifier } from '../../core/ports/identifiers.ts'
import type { RowsQuery } from '../../core/ports/world.ts'
import { numberedSlices, rowsOfEach } from '../postgres/numbered.ts'
import { columns, type Query, textArray } from '../postgres/sql.ts'
import { newErasureRow } from '../stores/people-rows.ts'
import { COLUMNS, ERASURE_SHOWN, type ErasureRow, storedErasure } from '../stores/rows.ts'
import { timelineOf } from '../stores/timeline-key.ts'
import type { Together } from '../stores/together.ts'
import type { Outbox } from './outbox.ts'
import { readByTenant } from './read-by-tenant.ts'
import type { Send } from './transaction.ts'

type Recorded = Parameters<Erasures['record']>[0]
/** An identifier to block, and the prospect that it leads to. */
type Named = {
  readonly kind: IdentifierKind
  readonly hash: string
  readonly prospectId: string | null
  readonly value: string | null
}

const ERASURE = columns('erasure', COLUMNS.erasures)
const SHOWN = columns('e', ERASURE_SHOWN)
const WANT = columns('lookup', 'number int, before_id, rows_max int')
const NAME = columns('had', 'kind, hash')
const BLOCK = columns('named', 'tenant_id, kind, hash, blocked_until timestamptz, erasure_id')
const STEP = columns(
  'step',
  `erasure_id, attempt int, pass int, settles_after, position, claimable_at timestamptz, status,
    completed_at timestamptz`,
)

/**
 * The verbs that differ from those of one PostgreSQL: there the tenant is hidden from the planner in a `case`, and so it
 * would be from Citus, too. Calls `erased` after prospects were erased.
 */
export const citusErasures = (
  query: Query,
  outbox: Outbox,
  together: Together,
  erased: () => void,
): Pick<
  Erasures,
  'find' | 'blockedBy' | 'list' | 'record' | 'deleteLogs' | 'settle' | 'extend' | 'unblock'
> => ({
  find: async (lookup) => {
    const { tenantId } = lookup
    const erasureId = 'erasureId' in lookup ? lookup.erasureId : null
    const erasedId = 'erasedId' in lookup ? lookup.erasedId : null
    const prospectId = 'prospectId' in lookup ? lookup.prospectId : null
    const [found] = await query(tenantId)<ErasureRow>`
      with named as (
        select f.erasure_id as id from erasures f
        where f.tenant_id = ${tenantId} and f.erasure_id = ${erasureId} and f.part_of is null
        union all
        select f.erasure_id from erasures f
        where f.tenant_id = ${tenantId} and f.prospect_id = ${prospectId} and f.completed_at is null
          and f.part_of is null
        union all
        select coalesce(f.part_of, f.erasure_id) from erasures f
        where f.tenant_id = ${tenantId} and f.prospect_id = ${erasedId}
      )
      select ${SHOWN.selected}, (
          select max(i.blocked_until) from identifiers i
          where i.tenant_id = ${tenantId} and i.erasure_id = e.erasure_id
        ) as blocked_until
      from named
        cross join lateral (
          select * from erasures e where e.tenant_id = ${tenantId} and e.erasure_id = named.id limit 1
        ) e
      limit 1`
    return found === undefined ? null : storedErasure(found)
  },

  blockedBy: (tenantId, erasureIds) => query(tenantId)<StoredIdentifier>`
    select i.tenant_id, i.kind, i.hash, i.prospect_id, i.blocked_until, i.erasure_id from identifiers i
    where i.tenant_id = ${tenantId} and i.erasure_id = any (${textArray(erasureIds)}::text[])`,

  list: together.read(
    'erasures.list',
    readByTenant(async (tenantId, lookups: readonly RowsQuery[]) => {
      const rows = await query(tenantId)<ErasureRow & { readonly number: number }>`
        select lookup.number, e.*
        from ${WANT.from(numberedSlices(lookups))}
          cross join lateral (
            select ${SHOWN.selected}, (
                select max(i.blocked_until) from identifiers i
                where i.tenant_id = ${tenantId} and i.erasure_id = e.erasure_id
              ) as blocked_until
            from erasures e
            where e.tenant_id = ${tenantId} and e.erasure_id < lookup.before_id
              and case when e.part_of is null then true else false end
            order by e.erasure_id desc limit lookup.rows_max
          ) e
        order by lookup.number, e.erasure_id desc`
      return rowsOfEach(lookups, rows).map((list) =>
        list.map(({ number, ...erasure }) => storedErasure(erasure)),
      )
    }),
  ),

  record: async (erasure, events) => {
    const recorded = await outbox.change(erasure.tenantId, events, (send) => erase(send, erasure))
    if (recorded === 'recorded') erased()
    return recorded
  },

  deleteLogs: async ({ tenantId, erasureId, partOf, prospectId }, max) => {
    const [firstKey, lastKey] = timelineOf(prospectId ?? '')
    const [row] = await query(tenantId)<{ found: number }>`
      with due as materialized (
        select * from (
          select l.prospect_log_id from prospect_logs l
          where l.timeline_key between ${firstKey} and ${lastKey}
            and case when l.tenant_id = ${tenantId} then l.prospect_id = ${prospectId} end
            and l.tenant_id = ${tenantId}
          order by l.timeline_key limit (select ${max}::int)
        ) l limit ${max}
      ), locked as materialized (
        select l.prospect_log_id from due
          join prospect_logs l on l.tenant_id = ${tenantId} and l.prospect_log_id = due.prospect_log_id
        order by l.prospect_log_id for update of l
      ), deleted as (
        delete from prospect_logs l using locked
        where l.tenant_id = ${tenantId} and l.prospect_log_id = locked.prospect_log_id
        returning 1
      )
      update erasures set logs_erased = logs_erased + (select count(*) from deleted)
      where tenant_id = ${tenantId} and erasure_id = ${partOf ?? erasureId} and exists (select 1 from due)
      returning (select count(*)::int from due) as found`
    return row?.found ?? 0
  },

  settle: async (tenantId, steps, foreign = []) => {
    await query(tenantId)`
      with cleaned as (
        update prospect_logs set email = null, external_id = null, name = null, request_hash = null
        where tenant_id = ${tenantId} and prospect_log_id = any (${textArray(foreign)}::text[])
      )
      update erasures e set pass = step.pass, settles_after = step.settles_after, position = step.position,
        claimable_at = step.claimable_at, status = step.status, completed_at = step.completed_at
      from ${STEP.from(steps)}
      where e.tenant_id = ${tenantId} and e.erasure_id = step.erasure_id
        and e.status = 'processing' and e.attempts = step.attempt and (step.completed_at is null or not exists (
          select 1 from erasures part
          where part.tenant_id = ${tenantId} and part.part_of = e.erasure_id and part.completed_at is null))`
  },

  extend: async ({ tenantId, erasureId }, until) => {
    await query(tenantId)`
      update identifiers i set blocked_until = ${until}
      where i.tenant_id = ${tenantId} and i.erasure_id = ${erasureId} and i.blocked_until < ${until}`
  },
  unblock: async ({ tenantId, erasureId }, now) => {
    await query(tenantId)`
      update identifiers i set blocked_until = ${now}
      where i.tenant_id = ${tenantId} and i.erasure_id = ${erasureId} and i.blocked_until > ${now}`
  },
})

/**
 * The prospect is locked first, as it is by every write that adds an identifier to it: so none is left out. If the
 * identifier to block was added meanwhile, the table refuses it: an identifier leads to a prospect or is blocked.
 */
const erase = async (send: Send, erasure: Recorded): Promise<boolean> => {
  const { tenantId, now, prospects, erasures } = erasure
  const [prospect] = prospects
  if (prospect !== undefined) {
    const changed = await send`
      update prospects p set email = null, external_id = null, name = null, attributes = null, erased_at = ${now}, updated_at = ${now}
      where p.tenant_id = ${tenantId} and p.prospect_id = ${prospect.prospectId}
        and p.erased_at is null and p.merged_into is null and p.updated_at = ${prospect.updatedAt}
        and p.email is not distinct from ${prospect.email}
        and p.external_id is not distinct from ${prospect.externalId}
        and p.name is not distinct from ${prospect.name}
      returning 1`
    if (changed.length === 0) return false
    eraseMerged(send, erasure, prospect.prospectId)
  }
  const named = await forgetNames(send, erasure)
  // Without a prospect, the identifier leads to no prospect.
  if (prospect === undefined && named.some(({ prospectId }) => prospectId !== null)) return false
  block(send, erasure, named)

  const others = named.flatMap(({ prospectId }) => (prospectId === null ? [] : prospectId))
  const stillLeadsTo = [...new Set(others)].filter((id) => id !== prospect?.prospectId).sort()
  const shown = JSON.stringify(stillLeadsTo.reverse().slice(0, ERASURE_NAMES_MAX))
  const rows = erasures.map((row) => ({
    ...newErasureRow(row),
    stillLeadsTo: row.partOf === null ? shown : '[]',
  }))
  send`insert into erasures (${ERASURE.names}) select ${ERASURE.values} from ${ERASURE.from(rows)}`
  return true
}

/** What led to the erased prospect: those merged into it, merges of logs to it, and its identifiers, which are blocked. */
const eraseMerged = (send: Send, { tenantId, now, until, erasures }: Recorded, prospectId: string): void => {
  send`
    update prospects p set email = null, external_id = null, name = null, attributes = null, erased_at = ${now}, updated_at = ${now}
    where p.tenant_id = ${tenantId} and p.merged_into = ${prospectId}`
  send`
    update merges m set status = 'completed', completed_at = ${now}
    where m.tenant_id = ${tenantId} and m.into_id = ${prospectId} and m.status = 'processing'`
  send`
    update identifiers i set prospect_id = null, value = null, blocked_until = ${until},
      erasure_id = ${erasures[0]?.erasureId ?? null}
    where i.tenant_id = ${tenantId} and i.prospect_id = ${prospectId}`
}

/** Deletes the former identifiers of the erased prospects. Returns them, and the one to block, each with where it leads. */
const forgetNames = async (send: Send, { tenantId, prospects, identifier }: Recorded) => {
  const forgotten = await send<Pick<Named, 'kind' | 'hash'>>`
    delete from former_identifiers f
    where f.tenant_id = ${tenantId}
      and f.prospect_id = any (${textArray(prospects.map(({ prospectId }) => prospectId))}::text[])
    returning f.kind, f.hash`
  const had = new Map([...forgotten, ...(identifier ? [identifier] : [])].map((name) => [nameOf(name), name]))
  if (had.size === 0) return []
  const leading = await send<Named>`
    select i.kind, i.hash, i.prospect_id, i.value
    from ${NAME.from([...had.values()])}
      cross join lateral (
        select * from identifiers i
        where i.tenant_id = ${tenantId} and i.kind = had.kind and i.hash = had.hash limit 1
      ) i`
  const leads = new Map(leading.map((name) => [nameOf(name), name]))
  return [...had].map(
    ([key, { kind, hash }]): Named => leads.get(key) ?? { kind, hash, prospectId: null, value: null },
  )
}
const nameOf = ({ kind, hash }: Pick<Named, 'kind' | 'hash'>): string => `${kind} ${hash}`

/**
 * One that leads to the erased prospect is blocked already. One that leads to another stays, and so does a placeholder of
 * the tenant.
 */
const block = (send: Send, { tenantId, until, erasures }: Recorded, named: readonly Named[]): void => {
  const erasureId = erasures[0]?.erasureId ?? null
  const blocks = named
    .filter(({ value }) => value === null)
    .map(({ kind, hash }) => ({ tenantId, kind, hash, blockedUntil: until, erasureId }))
  if (blocks.length > 0)
    send`
      insert into identifiers as i (${BLOCK.names}) select ${BLOCK.values} from ${BLOCK.from(blocks)}
      on conflict (tenant_id, kind, hash) do update
        set blocked_until = greatest(i.blocked_until, excluded.blocked_until), erasure_id = excluded.erasure_id`
}
