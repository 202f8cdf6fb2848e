import { asOutcome } from '../../core/engine/outcome.ts'
import { ROWS_SCANNED_MAX, SLICE_BYTES_MAX } from '../../core/engine/slices.ts'
import type { IdentifierKind } from '../../core/ports/identifiers.ts'
import {
  FORMER_OWNERS_READ_MAX,
  FORMER_TEXTS_MAX,
  type FoundProspect,
  LEADING_LISTED_MAX,
  type ProspectIdentifier,
  type ProspectKey,
  type Prospects,
  type ProspectsQuery,
} from '../../core/ports/prospects.ts'
import type { Scanned } from '../../core/ports/world.ts'
import { afterStart, SEARCHED_MAX } from '../../core/prospects/search-keys.ts'
import { COLUMNS, foundProspect, type ProspectRow, without } from '../stores/rows.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import type { Together } from '../stores/together.ts'
import { numbered, rowsOfEach } from './numbered.ts'
import type { Events, Outbox } from './outbox.ts'
import { columns, piece, type Query, textArray } from './sql.ts'

const SHOWN = columns('l', COLUMNS.prospects)
const SHOWN_BUT_EMAIL = columns('p', without(COLUMNS.prospects, 'email'))
const WANT = columns('lookup', 'number int, tenant_id, prospect_id')
const IDENTIFIER = columns('identifier', 'tenant_id, kind, hash, value, prospect_id')

const TEXT_BYTES = piece`coalesce(octet_length(l.email), 0) + coalesce(octet_length(l.name), 0)
  + coalesce(octet_length(l.attributes::text), 0)`

// The expressions of the indexes for the search: see `prospects_email_start` and the two after it.
const EMAIL_KEY = piece`(left(l.email, 100) collate "C")`
const FOLDED_NAME = piece`btrim(case when octet_length(l.name) = char_length(l.name) then lower(l.name)
  else lower(regexp_replace(normalize(l.name, NFKD), '[\\u0300-\\u036f]', '', 'g')) end)`
const NAME_KEY = piece`(left(${FOLDED_NAME}, 100) collate "C")`
const LAST_NAME_KEY = piece`(left(split_part(${FOLDED_NAME}, ' ', -1), 100) collate "C")`

export const postgresProspects = (
  query: Query,
  { confirm, newEvents }: Outbox,
  together: Together,
): Prospects => ({
  find: together.read('prospects.find', async (lookups: readonly ProspectKey[]) => {
    const rows = await query()<ProspectRow & { readonly number: number }>`
      select lookup.number, ${SHOWN.selected}
      from ${WANT.from(numbered(lookups))}
        join prospects l on l.tenant_id = lookup.tenant_id and l.prospect_id = lookup.prospect_id`
    return rowsOfEach(lookups, rows).map(([row]) => (row === undefined ? null : foundProspect(row)))
  }),

  findWithMerged: async ({ tenantId, prospectId }) => {
    const rows = await query(tenantId)<ProspectRow>`
      select ${SHOWN_BUT_EMAIL.selected}, p.email from prospects p
      where p.tenant_id = ${tenantId} and p.prospect_id = ${prospectId} and p.erased_at is null and p.merged_into is null
      union all
      select ${SHOWN_BUT_EMAIL.selected}, null from prospects p
      where p.tenant_id = ${tenantId} and p.merged_into = ${prospectId} and p.erased_at is null
      order by merged_into nulls first, prospect_id`
    return rows.map(foundProspect)
  },

  /** One statement for each, so that each can fail alone; only equal lists share theirs. */
  list: together.read('prospects.list', (lookups: readonly ProspectsQuery[]) =>
    Promise.all(
      lookups.map((lookup) =>
        (lookup.identifier === null ? listNewest : findIdentified)(query, lookup).catch(asOutcome),
      ),
    ),
  ),

  /**
   * Walks along the index of each kind: the order by the index's columns makes the planner do so, and stop. The newest
   * prospects of all are searched too, so that they come first even if many share a beginning, or are not indexed yet. An
   * empty beginning is sent as null, which nothing is compared with.
   */
  search: async ({ tenantId, emailStart, nameStart, limit }) => {
    const email = emailStart || null
    const name = nameStart || null
    const afterEmail = email && afterStart(email)
    const afterName = name && afterStart(name)
    const rows = await query(tenantId)<ProspectRow>`
      with found as (
        (
          select l.prospect_id from prospects l
          where l.tenant_id = ${tenantId} and l.is_searched and l.email is not null
            and ${EMAIL_KEY} >= ${email} and ${EMAIL_KEY} < ${afterEmail}
          order by l.tenant_id, ${EMAIL_KEY} limit (select ${SEARCHED_MAX}::int)
        ) union (
          select l.prospect_id from prospects l
          where l.tenant_id = ${tenantId} and l.is_searched and l.name is not null
            and ${NAME_KEY} >= ${name} and ${NAME_KEY} < ${afterName}
          order by l.tenant_id, ${NAME_KEY} limit (select ${SEARCHED_MAX}::int)
        ) union (
          select l.prospect_id from prospects l
          where l.tenant_id = ${tenantId} and l.is_searched and l.name like '% %'
            and ${LAST_NAME_KEY} >= ${name} and ${LAST_NAME_KEY} < ${afterName}
          order by l.tenant_id, ${LAST_NAME_KEY} limit (select ${SEARCHED_MAX}::int)
        ) union (
          select l.prospect_id from (
            select * from prospects l where l.tenant_id = ${tenantId}
            order by l.prospect_id desc limit (select ${SEARCHED_MAX}::int)
          ) l
          where starts_with(${EMAIL_KEY}, ${email}) or starts_with(${NAME_KEY}, ${name})
            or starts_with(${LAST_NAME_KEY}, ${name})
        )
      ), newest as (
        select prospect_id from found order by prospect_id desc limit ${limit}::int
      )
      select ${SHOWN.selected} from newest n
        cross join lateral (
          select * from prospects l where l.tenant_id = ${tenantId} and l.prospect_id = n.prospect_id limit 1
        ) l
      where l.erased_at is null
      order by l.prospect_id desc`
    return rows.map(foundProspect)
  },

  listOldest: async ({ tenantId, afterId, limit }) => {
    const rows = await query(tenantId)<ProspectRow>`
      select ${SHOWN.selected} from (
        select l.*, sum(${TEXT_BYTES}) over (
          order by l.prospect_id rows between unbounded preceding and 2 preceding
        ) as bytes_before
        from (
          select * from prospects l where l.tenant_id = ${tenantId} and l.prospect_id > ${afterId}
          order by l.prospect_id limit ${limit}
        ) l
      ) l
      where coalesce(l.bytes_before, 0) <= ${SLICE_BYTES_MAX}
      order by l.prospect_id`
    return rows.map(foundProspect)
  },

  /** Materialized, so that they are found along the index of the prospect, never along that of all hashes. */
  identifiers: async ({ tenantId, prospectId }) => {
    const rows = await query(tenantId)<ProspectIdentifier & { readonly hash: string }>`
      with kinds as (
        select * from (values ('email'), ('externalId')) as kinds (kind)
      ), led as materialized (
        select i.kind, i.value, i.hash from identifiers i
        where i.tenant_id = ${tenantId} and i.prospect_id = ${prospectId}
      ), person as (
        select ${prospectId} as prospect_id
        union all
        select p.prospect_id from prospects p where p.tenant_id = ${tenantId} and p.merged_into = ${prospectId}
      )
      select kinds.kind, i.value, false as is_former, null::timestamptz as released_at, i.hash
      from kinds
        cross join lateral (
          select i.value, i.hash from led i where i.kind = kinds.kind order by i.hash limit ${LEADING_LISTED_MAX}
        ) i
      union all
      select kinds.kind, f.value, true, f.released_at, f.hash
      from kinds
        cross join lateral (
          select f.value, f.released_at, f.hash
          from person
            cross join lateral (
              select f.value, f.released_at, f.hash from former_identifiers f
              where f.tenant_id = ${tenantId} and f.prospect_id = person.prospect_id and f.kind = kinds.kind
                and f.value is not null
              order by f.released_at desc limit ${FORMER_TEXTS_MAX}
            ) f
          order by f.released_at desc, f.hash limit ${FORMER_TEXTS_MAX}
        ) f
      order by is_former, kind, released_at desc, hash`
    return rows.map(({ kind, value, isFormer }) => ({ kind, value, isFormer }))
  },

  formerOwners: async ({ tenantId, kind, hash, limit }) => {
    const rows = await query(tenantId)<Pick<ProspectKey, 'prospectId'>>`
      with had as (
        select f.prospect_id, f.released_at from former_identifiers f
        where f.tenant_id = ${tenantId} and f.kind = ${kind} and f.hash = ${hash}
        order by f.released_at desc limit ${FORMER_OWNERS_READ_MAX}
      )
      select coalesce(p.merged_into, p.prospect_id) as prospect_id
      from had
        cross join lateral (
          select * from prospects p where p.tenant_id = ${tenantId} and p.prospect_id = had.prospect_id limit 1
        ) p
      where p.erased_at is null
      group by 1 order by max(had.released_at) desc, 1 desc limit ${limit}`
    return rows.map(({ prospectId }) => prospectId)
  },

  /**
   * Locks the prospect first. An identifier to add that leads here already stays. One that leads elsewhere, or is blocked,
   * is refused by its key: then nothing is saved. Only the newest twenty former identifiers of a kind keep their text. Each
   * row is changed by one part alone.
   */
  correct: ({ before, after, added, released, forgotten }, events) => {
    const { tenantId, prospectId } = before
    const forgottenText = (kind: IdentifierKind) =>
      forgotten.find((identifier) => identifier.kind === kind)?.value ?? null
    const removedHashes = textArray([...added, ...forgotten].map(({ hash }) => hash))
    return confirm(
      query()<Events>`
        with changed as (
          update prospects p set email = ${after.email}, external_id = ${after.externalId}, name = ${after.name},
            attributes = ${after.attributes?.rawJson ?? null}::text::json, updated_at = ${after.updatedAt}
          where p.tenant_id = ${tenantId} and p.prospect_id = ${prospectId}
            and ${before.erasedAt === null && before.mergedInto === null}
            and p.erased_at is null and p.merged_into is null and p.updated_at = ${before.updatedAt}
            and p.email is not distinct from ${before.email}
            and p.external_id is not distinct from ${before.externalId}
            and p.name is not distinct from ${before.name}
          returning 1
        ), released as (
          delete from identifiers i using ${IDENTIFIER.from(released)}
          where i.tenant_id = identifier.tenant_id and i.kind = identifier.kind and i.hash = identifier.hash
            and i.prospect_id = identifier.prospect_id and exists (select 1 from changed)
          returning i.tenant_id, i.prospect_id, i.kind, i.hash, i.value
        ), kept as (
          insert into former_identifiers as f (tenant_id, prospect_id, kind, hash, value, released_at)
          select r.tenant_id, r.prospect_id, r.kind, r.hash, r.value, ${after.updatedAt} from released r
          on conflict (tenant_id, prospect_id, kind, hash)
            do update set value = excluded.value, released_at = excluded.released_at
        ), shortened as (
          update former_identifiers f set value = null
          from (
            select o.kind, o.hash, row_number() over (partition by o.kind order by o.released_at desc, o.hash) as place
            from former_identifiers o
            where o.tenant_id = ${tenantId} and o.prospect_id = ${prospectId} and o.value is not null
          ) older
          where f.tenant_id = ${tenantId} and f.prospect_id = ${prospectId} and f.kind = older.kind
            and f.hash = older.hash and older.place >= ${FORMER_TEXTS_MAX} and exists (select 1 from released)
            and f.hash <> all (${removedHashes}::text[])
        ), regained as (
          delete from former_identifiers f using ${IDENTIFIER.from(added)}
          where f.tenant_id = identifier.tenant_id and f.prospect_id = identifier.prospect_id
            and f.kind = identifier.kind and f.hash = identifier.hash and exists (select 1 from changed)
        ), person as (
          select ${prospectId} as prospect_id where ${forgotten.length > 0}
          union all
          select p.prospect_id from prospects p
          where p.tenant_id = ${tenantId} and p.merged_into = ${prospectId} and ${forgotten.length > 0}
        ), forgotten as (
          delete from identifiers i using ${IDENTIFIER.from(forgotten)}
          where i.tenant_id = ${tenantId} and i.kind = identifier.kind and i.hash = identifier.hash
            and i.prospect_id = identifier.prospect_id and exists (select 1 from changed)
        ), forgotten_formers as (
          delete from former_identifiers f using person, ${IDENTIFIER.from(forgotten)}
          where f.tenant_id = ${tenantId} and f.prospect_id = person.prospect_id
            and f.kind = identifier.kind and f.hash = identifier.hash and exists (select 1 from changed)
        ), forgotten_of_merged as (
          update prospects p set email = nullif(p.email, ${forgottenText('email')}),
            external_id = nullif(p.external_id, ${forgottenText('externalId')})
          from person
          where p.tenant_id = ${tenantId} and p.prospect_id = person.prospect_id and p.prospect_id <> ${prospectId}
            and (p.email = ${forgottenText('email')} or p.external_id = ${forgottenText('externalId')})
            and exists (select 1 from changed)
        ), identified as (
          insert into identifiers (${IDENTIFIER.names})
          select ${IDENTIFIER.values} from ${IDENTIFIER.from(added)}
          where exists (select 1 from changed) and (
            select true from identifiers i
            where i.tenant_id = identifier.tenant_id and i.kind = identifier.kind and i.hash = identifier.hash
              and i.prospect_id = identifier.prospect_id limit 1
          ) is null
        ), ${newEvents(events)}
        select (select count(*)::int from new_events) as events from changed`,
    )
  },
})

/**
 * The newest prospects until they fill a slice, among the 10,000 newest rows. If these do not suffice, `resume` is the id
 * of the last of them. It is looked up only then; otherwise no more rows are read than are returned.
 *
 * The limits of these walks are a `select`, whose value the planner does not know: then it assumes that few rows are
 * wanted, and walks along the index. With 10,000 as a constant it would sometimes collect and sort all rows of the tenant.
 */
const listNewest = async (query: Query, lookup: ProspectsQuery): Promise<Scanned<FoundProspect>> => {
  const { tenantId, limit } = lookup
  const beforeId = lookup.beforeId ?? AFTER_ALL_IDS
  const rows = await query(tenantId)<ProspectRow & { readonly resume: string | null }>`
    with found as (
      select * from (
        select * from prospects l where l.tenant_id = ${tenantId} and l.prospect_id < ${beforeId}
        order by l.prospect_id desc limit (select ${ROWS_SCANNED_MAX}::int)
      ) l
      where l.erased_at is null and l.merged_into is null
      order by l.prospect_id desc limit ${limit + 1}
    )
    select ${SHOWN.selected}, stop.resume
    from (
        select case when (select count(*) from found) <= ${limit} then (
          select l.prospect_id from prospects l where l.tenant_id = ${tenantId} and l.prospect_id < ${beforeId}
          order by l.prospect_id desc offset (select ${ROWS_SCANNED_MAX - 1}::int) limit 1
        ) end as resume
      ) stop
      left join (
        select l.*, sum(${TEXT_BYTES}) over (
          order by l.prospect_id desc rows between unbounded preceding and 2 preceding
        ) as bytes_before
        from found l
      ) l on coalesce(l.bytes_before, 0) <= ${SLICE_BYTES_MAX}
    order by l.prospect_id desc`
  const shown = rows.filter(({ prospectId }) => prospectId !== null)
  return { rows: shown.map(foundProspect), resume: rows[0]?.resume ?? null }
}

/**
 * The prospect that an identifier leads to. The limits keep other conditions out of the look-ups, so that they use whole
 * keys.
 */
const findIdentified = async (query: Query, lookup: ProspectsQuery): Promise<Scanned<FoundProspect>> => {
  const { tenantId, identifier } = lookup
  const rows = await query(tenantId)<ProspectRow>`
    select ${SHOWN.selected}
    from (
      select i.prospect_id from identifiers i
      where i.tenant_id = ${tenantId} and i.kind = ${identifier?.kind ?? null} and i.hash = ${identifier?.hash ?? null}
      limit 1
    ) i
      cross join lateral (
        select * from prospects l where l.tenant_id = ${tenantId} and l.prospect_id = i.prospect_id limit 1
      ) l
    where l.prospect_id < ${lookup.beforeId ?? AFTER_ALL_IDS}`
  return { rows: rows.map(foundProspect), resume: null }
}
