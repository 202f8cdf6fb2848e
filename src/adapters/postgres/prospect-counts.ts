import {
  type CountedBy,
  DAYS_KEPT,
  type DayCount,
  PAGE_PAYLOAD_BYTES_MAX,
  type ProspectCounts,
  type ProspectTally,
} from '../../core/ports/prospect-counts.ts'
import { piece, type Query } from './sql.ts'

/**
 * The page that the payload of a log names. PostgreSQL refuses to read some escapes that JSON may have, such as that of NUL:
 * they are replaced before, as no name of a member and no id is written with one.
 */
const PAGE_ID = piece([
  `case when octet_length(l.payload::text) <= ${PAGE_PAYLOAD_BYTES_MAX} and position('"pageId"' in l.payload::text) > 0 then
    case when position('\\u' in l.payload::text) > 0
      then regexp_replace(l.payload::text, '\\\\(u....|.)', '?', 'g')::json else l.payload end ->> 'pageId'
  end`,
])

export const postgresProspectCounts = (query: Query): ProspectCounts => ({
  tally: ({ tenantId, afterId, toId, day }) => query(tenantId)<ProspectTally>`
    with logs as materialized (
      select l.prospect_id, l.source, l.created_prospect, ${PAGE_ID} as page_id from prospect_logs l
      where l.tenant_id = ${tenantId} and l.prospect_log_id > ${afterId} and l.prospect_log_id <= ${toId}
    ), tallied as (
      select 'source' as kind, l.source as name, l.prospect_id, count(*)::int as count,
        count(*) filter (where l.created_prospect)::int as new_prospects
      from logs l group by l.source, l.prospect_id
      union all
      select 'page', l.page_id, l.prospect_id, count(*)::int, count(*) filter (where l.created_prospect)::int
      from logs l
      where exists (select 1 from page_versions v where v.tenant_id = ${tenantId} and v.page_id = l.page_id)
      group by l.page_id, l.prospect_id
    )
    select t.kind, t.name, t.prospect_id, t.count, t.new_prospects, (
        select max(d.day) from prospect_days d
        where d.tenant_id = ${tenantId} and d.prospect_id = t.prospect_id and d.kind = t.kind and d.name = t.name
          and d.day <= ${day}
      ) as last_day
    from tallied t
      join prospects p on p.tenant_id = ${tenantId} and p.prospect_id = t.prospect_id and p.erased_at is null`,

  namesOn: (tenantId, day) => query(tenantId)<{ readonly kind: CountedBy; readonly name: string }>`
    select distinct c.kind, c.name from prospect_counts c
    where c.tenant_id = ${tenantId} and c.kind in ('page', 'source') and c.day = ${day}`,

  list: ({ tenantId, kind, since, until, firstDay }) => query(tenantId)<DayCount>`
    select c.day, c.name, sum(c.count)::float8 as count, sum(c.new_prospects)::float8 as new_prospects,
      coalesce(sum(c.count) filter (where c.days_since > coalesce(c.day - ${firstDay}, 0)), 0)::float8 as prospects
    from prospect_counts c
    where c.tenant_id = ${tenantId} and c.kind = ${kind} and c.day >= ${since} and c.day < ${until}
    group by c.day, c.name order by c.day, c.name`,

  removeOf: async ({ tenantId, prospectId }, max) => {
    const rows = await query(tenantId)`
      with due as materialized (
        select d.kind, d.name, d.day from prospect_days d
        where d.tenant_id = ${tenantId} and d.prospect_id = ${prospectId} limit ${max}
      )
      delete from prospect_days d using due
      where d.tenant_id = ${tenantId} and d.prospect_id = ${prospectId}
        and d.kind = due.kind and d.name = due.name and d.day = due.day
      returning 1`
    return rows.length
  },

  expire: async ({ tenantId, before, max }) => {
    const rows = await query(tenantId)`
      with due as materialized (
        select d.prospect_id, d.kind, d.name, d.day from prospect_days d
        where d.tenant_id = ${tenantId} and d.day < greatest(
          ${before}, (select max(l.day) - ${DAYS_KEPT}::int from prospect_days l where l.tenant_id = ${tenantId})
        )
        order by d.day limit ${max} for update skip locked
      )
      delete from prospect_days d using due
      where d.tenant_id = ${tenantId} and d.prospect_id = due.prospect_id
        and d.kind = due.kind and d.name = due.name and d.day = due.day
      returning 1`
    return rows.length === max
  },
})
