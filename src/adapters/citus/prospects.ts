import type { FoundProspect, KnownProspect, Prospects } from '../../core/ports/prospects.ts'
import { afterStart, SEARCHED_MAX } from '../../core/prospects/search-keys.ts'
import { KNOWN_PROSPECT, SHOWN_PROSPECT, without } from '../stores/rows.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import { eachTenant, findBy } from './by-tenant.ts'
import type { Forms } from './forms.ts'
import { CHANGED, type Outbox } from './outbox.ts'
import { columns, type Fragment, ifOvertaken, joined, later, nothing, type Query, sql } from './sql.ts'
import { eachAlone, slice, walk } from './walk.ts'

type Row = FoundProspect & {
  readonly want?: number
  readonly resume?: string | null
  readonly one?: number
  readonly hasEvents?: boolean
}

const SHOWN = columns('l', SHOWN_PROSPECT)
const BYTES = sql`coalesce(octet_length(l.email), 0) + coalesce(octet_length(l.name), 0)`
const KNOWN = columns('p', without(KNOWN_PROSPECT, 'email'))

// The expressions of the indexes: see `0008_search.sql`.
const EMAIL_START = sql`(left(l.email, 100) collate "C")`
const FOLDED_NAME = sql`btrim(case when octet_length(l.name) = char_length(l.name) then lower(l.name)
  else lower(regexp_replace(normalize(l.name, NFKD), '[\\u0300-\\u036f]', '', 'g')) end)`
const NAME_START = sql`(left(${FOLDED_NAME}, 100) collate "C")`
const LAST_NAME_START = sql`(left(split_part(${FOLDED_NAME}, ' ', -1), 100) collate "C")`

/** Calls `changed` after a prospect was updated. */
export const postgresProspects = (
  query: Query,
  changed: (tenantId: string) => void,
  { ofEach }: Forms,
  outbox: Outbox,
): Prospects => {
  const findByHash = (column: string) =>
    findBy(query, eachTenant, 'prospects', column, SHOWN_PROSPECT, prospectOf)
  const [findByEmail, findByExternalId] = [findByHash('email_hash'), findByHash('external_id_hash')]
  return {
    find: findBy(query, ofEach, 'prospects', 'prospect_id', SHOWN_PROSPECT, prospectOf),

    findWithMerged: ({ tenantId, prospectId }) => query(tenantId)<KnownProspect>`
      select ${KNOWN.selected}, p.email from prospects p
      where p.tenant_id = ${tenantId} and p.prospect_id = ${prospectId} and p.erased_at is null and p.merged_into is null
      union all
      select ${KNOWN.selected}, null from prospects p
      where p.tenant_id = ${tenantId} and p.merged_into = ${prospectId} and p.erased_at is null
      order by merged_into nulls first, prospect_id`,

    list: (wants) =>
      eachAlone(wants, async (want) => {
        const { tenantId, emailHash, externalIdHash, limit } = want
        const beforeId = want.beforeId ?? AFTER_ALL_IDS
        if (emailHash !== null || externalIdHash !== null) {
          const [found] = await (emailHash === null ? findByExternalId : findByEmail)([want])
          const isShown = found && found.erasedAt === null && found.prospectId < beforeId
          return { rows: isShown ? [found] : [], resume: null }
        }
        const { rows, resume } = await walk<Row>(query, tenantId, {
          along: sql`from prospects l where l.tenant_id = ${tenantId} and l.prospect_id < ${beforeId}`,
          key: sql`l.prospect_id`,
          newest: sql`l.prospect_id desc`,
          matches: sql`l.erased_at is null and l.merged_into is null`,
          selected: SHOWN.selected,
          bytes: BYTES,
          limit,
        })
        return { rows: rows.map(prospectOf), resume }
      }),

    /**
     * Each kind along its index: the order by the index's columns makes the planner walk it, and stop. The newest come
     * first even if many share a beginning, since those are found among the newest of all.
     */
    search: async ({ tenantId, emailStart, nameStart, limit }) => {
      const kind = (key: Fragment, start: string, isIndexed: Fragment) => sql`(
        select l.prospect_id from prospects l
        where l.tenant_id = ${tenantId} and ${key} >= ${start} and ${key} < ${afterStart(start)} and ${isIndexed}
        order by l.tenant_id, ${key} limit (select ${SEARCHED_MAX}::int))`
      const begins = (key: Fragment, start: string) => sql`starts_with(${key}, ${start})`
      const kinds: Fragment[] = []
      const isNewest: Fragment[] = []
      if (emailStart !== '') {
        kinds.push(kind(EMAIL_START, emailStart, sql`l.email is not null`))
        isNewest.push(begins(EMAIL_START, emailStart))
      }
      if (nameStart !== '') {
        kinds.push(kind(NAME_START, nameStart, sql`l.name is not null`))
        kinds.push(kind(LAST_NAME_START, nameStart, sql`l.name like '% %'`))
        isNewest.push(begins(NAME_START, nameStart), begins(LAST_NAME_START, nameStart))
      }
      if (kinds.length === 0) return []
      const rows = await query(tenantId)<Row>`
        with found as (
          ${joined(kinds, sql` union `)}
          union (
            select l.prospect_id from (
              select * from prospects l where l.tenant_id = ${tenantId}
              order by l.prospect_id desc limit (select ${SEARCHED_MAX}::int)
            ) l
            where ${joined(isNewest, sql` or `)})
        ), newest as (select prospect_id from found order by prospect_id desc limit ${limit}::int)
        select ${SHOWN.selected} from newest n
          cross join lateral (
            select * from prospects l where l.tenant_id = ${tenantId} and l.prospect_id = n.prospect_id limit 1
          ) l
        where l.erased_at is null
        order by l.prospect_id desc`
      return rows.map(prospectOf)
    },

    listOldest: async ({ tenantId, afterId, limit }) => {
      const after = sql`select * from prospects l where l.tenant_id = ${tenantId} and l.prospect_id > ${afterId}`
      const rows = await query(tenantId)<FoundProspect>`
        select ${SHOWN.selected} from ${slice(after, BYTES, sql`l.prospect_id`, limit)} order by l.prospect_id`
      return [...rows]
    },

    /**
     * Prospects that were merged into this one first give up the values that it will have: see `erasures.record`.
     */
    update: async (update, events) => {
      const { tenantId, prospectId, email, externalId, name, updatedAt } = update
      const changes = sql`
        update prospects l set
          ${email === undefined ? nothing : sql`email = ${email.email}, email_hash = ${email.emailHash},`}
          ${externalId === undefined ? nothing : sql`external_id = ${externalId.externalId}, external_id_hash = ${externalId.externalIdHash},`}
          ${name === undefined ? nothing : sql`name = ${name},`}
          updated_at = ${later(sql`l.updated_at`, sql`${updatedAt}`)}
        where l.tenant_id = ${tenantId} and l.prospect_id = ${prospectId} and l.erased_at is null
          and l.merged_into is null and (select count(*) from given) >= 0
        returning ${SHOWN.selected}`
      const [emailHash, externalIdHash] = [email?.emailHash ?? null, externalId?.externalIdHash ?? null]
      const given = sql`given as (
        update prospects m set
          email = case when m.email_hash = ${emailHash} then null else m.email end,
          email_hash = nullif(m.email_hash, ${emailHash}),
          external_id = case when m.external_id_hash = ${externalIdHash} then null else m.external_id end,
          external_id_hash = nullif(m.external_id_hash, ${externalIdHash})
        where m.tenant_id = ${tenantId} and m.merged_into = ${prospectId}
          and (m.email_hash = ${emailHash} or m.external_id_hash = ${externalIdHash})
        returning 1)`
      const parts = [given, sql`changed as (${changes})`]
      const updated = await outbox
        .write<Row>([update], events, parts, sql`* from changed`, CHANGED)
        .catch(ifOvertaken('overtaken' as const))
      if (updated === 'overtaken') return updated
      const [prospect] = updated
      if (prospect === undefined) return null
      changed(tenantId)
      return prospectOf(prospect)
    },
  }
}

const prospectOf = ({ want, resume, one, hasEvents, ...prospect }: Row): FoundProspect => prospect
