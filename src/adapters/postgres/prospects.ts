import { asOutcome } from '../../core/engine/outcome.ts'
import { ROWS_SCANNED_MAX, SLICE_BYTES_MAX } from '../../core/engine/slices.ts'
import type { FoundProspect, KnownProspect, Prospects, ProspectsWant } from '../../core/ports/prospects.ts'
import type { Scanned } from '../../core/ports/world.ts'
import { afterStart, SEARCHED_MAX } from '../../core/prospects/search-keys.ts'
import { KNOWN_PROSPECT, SHOWN_PROSPECT, without } from '../stores/rows.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import { numbered, rowsOfEach } from './numbered.ts'
import type { Outbox } from './outbox.ts'
import { ifOvertaken } from './overtaken.ts'
import { columns, piece, type Query } from './sql.ts'

const SHOWN = columns('l', SHOWN_PROSPECT)
const KNOWN = columns('p', without(KNOWN_PROSPECT, 'email'))
const WANT = columns('want', 'number int, tenant_id, prospect_id')

// The expressions of the indexes for the search: see `0008_search.sql`.
const EMAIL_KEY = piece`(left(l.email, 100) collate "C")`
const FOLDED_NAME = piece`btrim(case when octet_length(l.name) = char_length(l.name) then lower(l.name)
  else lower(regexp_replace(normalize(l.name, NFKD), '[\\u0300-\\u036f]', '', 'g')) end)`
const NAME_KEY = piece`(left(${FOLDED_NAME}, 100) collate "C")`
const LAST_NAME_KEY = piece`(left(split_part(${FOLDED_NAME}, ' ', -1), 100) collate "C")`

/** Calls `changed` after a prospect was updated. */
export const postgresProspects = (
  query: Query,
  outbox: Outbox,
  changed: (tenantId: string) => void,
): Prospects => ({
  find: async (wants) => {
    const rows = await query()<FoundProspect & { readonly number: number }>`
      select want.number, ${SHOWN.selected}
      from ${WANT.from(numbered(wants))}
        join prospects l on l.tenant_id = want.tenant_id and l.prospect_id = want.prospect_id`
    return rowsOfEach(wants, rows).map(([row]) => (row === undefined ? null : prospectOf(row)))
  },

  findWithMerged: ({ tenantId, prospectId }) => query(tenantId)<KnownProspect>`
    select ${KNOWN.selected}, p.email from prospects p
    where p.tenant_id = ${tenantId} and p.prospect_id = ${prospectId} and p.erased_at is null and p.merged_into is null
    union all
    select ${KNOWN.selected}, null from prospects p
    where p.tenant_id = ${tenantId} and p.merged_into = ${prospectId} and p.erased_at is null
    order by merged_into nulls first, prospect_id`,

  /** Sends a statement for each want, so that each can fail alone. */
  list: (wants) =>
    Promise.all(
      wants.map((want) => {
        const isAll = want.emailHash === null && want.externalIdHash === null
        return (isAll ? newest(query, want) : identified(query, want)).catch(asOutcome)
      }),
    ),

  /**
   * Walks along the index of each kind: the order by the index's columns makes the planner do so, and stop. The newest
   * prospects of all are searched too, so that they come first even if many share a beginning. An empty beginning is
   * sent as null, which nothing is compared with.
   */
  search: async ({ tenantId, emailStart, nameStart, limit }) => {
    const email = emailStart || null
    const name = nameStart || null
    const afterEmail = email && afterStart(email)
    const afterName = name && afterStart(name)
    const rows = await query(tenantId)<FoundProspect>`
      with found as (
        (
          select l.prospect_id from prospects l
          where l.tenant_id = ${tenantId} and l.email is not null
            and ${EMAIL_KEY} >= ${email} and ${EMAIL_KEY} < ${afterEmail}
          order by l.tenant_id, ${EMAIL_KEY} limit (select ${SEARCHED_MAX}::int)
        ) union (
          select l.prospect_id from prospects l
          where l.tenant_id = ${tenantId} and l.name is not null
            and ${NAME_KEY} >= ${name} and ${NAME_KEY} < ${afterName}
          order by l.tenant_id, ${NAME_KEY} limit (select ${SEARCHED_MAX}::int)
        ) union (
          select l.prospect_id from prospects l
          where l.tenant_id = ${tenantId} and l.name like '% %'
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
    return rows.map(prospectOf)
  },

  listOldest: async ({ tenantId, afterId, limit }) => {
    const rows = await query(tenantId)<FoundProspect>`
      select ${SHOWN.selected} from (
        select l.*, sum(coalesce(octet_length(l.email), 0) + coalesce(octet_length(l.name), 0)) over (
          order by l.prospect_id rows between unbounded preceding and 2 preceding
        ) as bytes_before
        from (
          select * from prospects l where l.tenant_id = ${tenantId} and l.prospect_id > ${afterId}
          order by l.prospect_id limit ${limit}
        ) l
      ) l
      where coalesce(l.bytes_before, 0) <= ${SLICE_BYTES_MAX}
      order by l.prospect_id`
    return rows.map(prospectOf)
  },

  update: async ({ tenantId, prospectId, email, externalId, name, updatedAt }, events) => {
    const emailHash = email?.emailHash ?? null
    const externalIdHash = externalId?.externalIdHash ?? null
    const written = outbox.write<FoundProspect>(
      (sql, isInTime) => sql`
        with given_up as (
          update prospects m set
            email = case when m.email_hash = ${emailHash} then null else m.email end,
            email_hash = nullif(m.email_hash, ${emailHash}),
            external_id = case when m.external_id_hash = ${externalIdHash} then null else m.external_id end,
            external_id_hash = nullif(m.external_id_hash, ${externalIdHash})
          where m.tenant_id = ${tenantId} and m.merged_into = ${prospectId}
            and (m.email_hash = ${emailHash} or m.external_id_hash = ${externalIdHash})
          returning 1
        ), changed as (
          update prospects l set
            email = case when ${email !== undefined} then ${email?.email ?? null} else l.email end,
            email_hash = case when ${email !== undefined} then ${emailHash} else l.email_hash end,
            external_id = case when ${externalId !== undefined} then ${externalId?.externalId ?? null}
              else l.external_id end,
            external_id_hash = case when ${externalId !== undefined} then ${externalIdHash}
              else l.external_id_hash end,
            name = case when ${name !== undefined} then ${name ?? null} else l.name end,
            updated_at = greatest(${updatedAt}, l.updated_at + interval '1 ms')
          where l.tenant_id = ${tenantId} and l.prospect_id = ${prospectId} and l.erased_at is null
            and l.merged_into is null
            -- Always true. A part runs when it is read: merged prospects give up their values before this one takes them.
            and (select count(*) from given_up) >= 0
          returning ${SHOWN.selected}
        ), ${outbox.newEvents(events)}
        select changed.*, (select count(*)::int from new_events) as events from changed where ${isInTime}`,
    )
    const updated = await written.catch(ifOvertaken('overtaken' as const))
    if (updated === 'overtaken') return updated
    const [prospect] = updated
    if (prospect === undefined) return null
    changed(tenantId)
    return prospectOf(prospect)
  },
})

/**
 * The newest prospects until they fill a slice, among the 10,000 newest rows. If these do not suffice, `resume` is the id
 * of the last of them. It is looked up only then; otherwise no more rows are read than are returned.
 *
 * The limits of these walks are a `select`, whose value the planner does not know: then it assumes that few rows are
 * wanted, and walks along the index. With 10,000 as a constant it would sometimes collect and sort all rows of the tenant.
 */
const newest = async (query: Query, want: ProspectsWant): Promise<Scanned<FoundProspect>> => {
  const { tenantId, limit } = want
  const beforeId = want.beforeId ?? AFTER_ALL_IDS
  const rows = await query(tenantId)<FoundProspect & { readonly resume: string | null }>`
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
        select l.*, sum(coalesce(octet_length(l.email), 0) + coalesce(octet_length(l.name), 0)) over (
          order by l.prospect_id desc rows between unbounded preceding and 2 preceding
        ) as bytes_before
        from found l
      ) l on coalesce(l.bytes_before, 0) <= ${SLICE_BYTES_MAX}
    order by l.prospect_id desc`
  const shown = rows.filter(({ prospectId }) => prospectId !== null)
  return { rows: shown.map(prospectOf), resume: rows[0]?.resume ?? null }
}

/**
 * The prospect with an email or an external id, merged or not. The hash that is null matches none. Each limit keeps the
 * other conditions out of the look-up, so that it uses its whole key.
 */
const identified = async (query: Query, want: ProspectsWant): Promise<Scanned<FoundProspect>> => {
  const { tenantId, emailHash, externalIdHash } = want
  const rows = await query(tenantId)<FoundProspect>`
    select ${SHOWN.selected} from (
      (select * from prospects l where l.tenant_id = ${tenantId} and l.email_hash = ${emailHash} limit 1)
      union all
      (select * from prospects l where l.tenant_id = ${tenantId} and l.external_id_hash = ${externalIdHash} limit 1)
    ) l
    where l.erased_at is null and l.prospect_id < ${want.beforeId ?? AFTER_ALL_IDS}`
  return { rows: rows.map(prospectOf), resume: null }
}

/** A prospect as callers see it: field by field, in this order. */
const prospectOf = (row: FoundProspect): FoundProspect => ({
  tenantId: row.tenantId,
  prospectId: row.prospectId,
  email: row.email,
  name: row.name,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  erasedAt: row.erasedAt,
  externalId: row.externalId,
  mergedInto: row.mergedInto,
})
