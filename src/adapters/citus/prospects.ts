import type { IdentifierKind } from '../../core/ports/identifiers.ts'
import {
  FORMER_TEXTS_MAX,
  type ProspectCorrected,
  type ProspectKey,
  type Prospects,
} from '../../core/ports/prospects.ts'
import { numbered, rowsOfEach } from '../postgres/numbered.ts'
import { columns, type Query, textArray } from '../postgres/sql.ts'
import { COLUMNS, foundProspect, type ProspectRow } from '../stores/rows.ts'
import { LOOKUPS_MAX, type Together } from '../stores/together.ts'
import type { Outbox } from './outbox.ts'
import { readByTenant } from './read-by-tenant.ts'
import type { Send } from './transaction.ts'

const SHOWN = columns('l', COLUMNS.prospects)
const WANT = columns('lookup', 'number int, prospect_id')
const IDENTIFIER = columns('identifier', 'tenant_id, kind, hash, value, prospect_id')
const FORMER = columns('former', 'tenant_id, prospect_id, kind, hash, value, released_at timestamptz')

/** The verbs that differ from those of one PostgreSQL. */
export const citusProspects = (
  query: Query,
  outbox: Outbox,
  together: Together,
): Pick<Prospects, 'find' | 'correct'> => ({
  find: together.read(
    'prospects.find',
    readByTenant(async (tenantId, lookups: readonly ProspectKey[]) => {
      const rows = await query(tenantId)<ProspectRow & { readonly number: number }>`
        select lookup.number, ${SHOWN.selected}
        from ${WANT.from(numbered(lookups))}
          cross join lateral (
            select * from prospects l where l.tenant_id = ${tenantId} and l.prospect_id = lookup.prospect_id limit 1
          ) l`
      return rowsOfEach(lookups, rows).map(([row]) => (row === undefined ? null : foundProspect(row)))
    }),
    { listLengthMax: LOOKUPS_MAX },
  ),

  correct: (correction, events) =>
    outbox.change(correction.before.tenantId, events, (send) => correctProspect(send, correction)),
})

/** The prospect is locked first, as by every write that changes where its identifiers lead. */
const correctProspect = async (send: Send, correction: ProspectCorrected): Promise<boolean> => {
  const { before, after, added, released, forgotten } = correction
  const { tenantId, prospectId } = before
  if (before.erasedAt !== null || before.mergedInto !== null) return false
  const changed = await send`
    update prospects p set email = ${after.email}, external_id = ${after.externalId}, name = ${after.name},
      attributes = ${after.attributes?.rawJson ?? null}::text::json, updated_at = ${after.updatedAt}
    where p.tenant_id = ${tenantId} and p.prospect_id = ${prospectId}
      and p.erased_at is null and p.merged_into is null and p.updated_at = ${before.updatedAt}
      and p.email is not distinct from ${before.email}
      and p.external_id is not distinct from ${before.externalId}
      and p.name is not distinct from ${before.name}
    returning 1`
  if (changed.length === 0) return false
  if (released.length > 0) await release(send, correction)
  if (forgotten.length > 0) await forget(send, correction)
  if (added.length > 0) await addIdentifiers(send, correction)
  return true
}

/** Identifiers that lead to the prospect become former ones; only the newest of these keep their text. */
const release = async (send: Send, { before, after, added, released, forgotten }: ProspectCorrected) => {
  const { tenantId, prospectId } = before
  const led = await send<Pick<ProspectKey, 'tenantId' | 'prospectId'>>`
    delete from identifiers i using ${IDENTIFIER.from(released)}
    where i.tenant_id = ${tenantId} and i.kind = identifier.kind and i.hash = identifier.hash
      and i.prospect_id = identifier.prospect_id
    returning i.tenant_id, i.prospect_id, i.kind, i.hash, i.value`
  if (led.length === 0) return
  const kept = led.map((identifier) => ({ ...identifier, releasedAt: after.updatedAt }))
  const removedHashes = textArray([...added, ...forgotten].map(({ hash }) => hash))
  send`
    insert into former_identifiers (${FORMER.names}) select ${FORMER.values} from ${FORMER.from(kept)}
    on conflict (tenant_id, prospect_id, kind, hash)
      do update set value = excluded.value, released_at = excluded.released_at`
  send`
    update former_identifiers f set value = null
    from (
      select o.kind, o.hash, row_number() over (partition by o.kind order by o.released_at desc, o.hash) as place
      from former_identifiers o
      where o.tenant_id = ${tenantId} and o.prospect_id = ${prospectId} and o.value is not null
    ) older
    where f.tenant_id = ${tenantId} and f.prospect_id = ${prospectId} and f.kind = older.kind
      and f.hash = older.hash and older.place > ${FORMER_TEXTS_MAX}
      and f.hash <> all (${removedHashes}::text[])`
}

/** Identifiers that never were the prospect's leave no trace at it, nor at those that were merged into it. */
const forget = async (send: Send, { before, forgotten }: ProspectCorrected) => {
  const { tenantId, prospectId } = before
  const textOf = (kind: IdentifierKind) =>
    forgotten.find((identifier) => identifier.kind === kind)?.value ?? null
  const merged = await send<Pick<ProspectKey, 'prospectId'>>`
    select p.prospect_id from prospects p where p.tenant_id = ${tenantId} and p.merged_into = ${prospectId}`
  const person = textArray([prospectId, ...merged.map((row) => row.prospectId)])
  send`
    delete from identifiers i using ${IDENTIFIER.from(forgotten)}
    where i.tenant_id = ${tenantId} and i.kind = identifier.kind and i.hash = identifier.hash
      and i.prospect_id = identifier.prospect_id`
  send`
    delete from former_identifiers f using ${IDENTIFIER.from(forgotten)}
    where f.tenant_id = ${tenantId} and f.prospect_id = any (${person}::text[])
      and f.kind = identifier.kind and f.hash = identifier.hash`
  send`
    update prospects p set email = nullif(p.email, ${textOf('email')}),
      external_id = nullif(p.external_id, ${textOf('externalId')})
    where p.tenant_id = ${tenantId} and p.prospect_id = any (${person}::text[]) and p.prospect_id <> ${prospectId}
      and (p.email = ${textOf('email')} or p.external_id = ${textOf('externalId')})`
}

/** One that leads to the prospect already stays. One that leads elsewhere makes the primary key refuse it. */
const addIdentifiers = async (send: Send, { before, added }: ProspectCorrected) => {
  const { tenantId, prospectId } = before
  send`
    delete from former_identifiers f using ${IDENTIFIER.from(added)}
    where f.tenant_id = ${tenantId} and f.prospect_id = ${prospectId}
      and f.kind = identifier.kind and f.hash = identifier.hash`
  const leading = await send<{ kind: string; hash: string }>`
    select i.kind, i.hash from identifiers i
    where i.tenant_id = ${tenantId} and i.prospect_id = ${prospectId}
      and i.hash = any (${textArray(added.map(({ hash }) => hash))}::text[])`
  const missing = added.filter(
    ({ kind, hash }) => !leading.some((found) => found.kind === kind && found.hash === hash),
  )
  if (missing.length > 0)
    send`
      insert into identifiers (${IDENTIFIER.names})
      select ${IDENTIFIER.values} from ${IDENTIFIER.from(missing)}`
}
