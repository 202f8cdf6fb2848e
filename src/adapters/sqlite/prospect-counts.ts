import {
  type CountedBy,
  DAYS_KEPT,
  type DayCount,
  PAGE_PAYLOAD_BYTES_MAX,
  type ProspectCounts,
  type ProspectTally,
} from '../../core/ports/prospect-counts.ts'
import type { Database } from './open.ts'

/** The page that the payload of a log names. Of several members with this name the last one counts, as everywhere. */
const PAGE_ID = `
  iif(octet_length(payload) <= ${PAGE_PAYLOAD_BYTES_MAX} and instr(payload, '"pageId"') > 0,
    (select m.atom from json_each(payload) m where m.key = 'pageId' order by m.id desc limit 1), null)`
const TALLY = `
  with logs as materialized (
    select prospect_id, source, created_prospect, ${PAGE_ID} as page_id from prospect_logs
    where tenant_id = :tenantId and prospect_log_id > :afterId and prospect_log_id <= :toId
  ), tallied as (
    select 'source' as kind, source as name, prospect_id, count(*) as count, sum(created_prospect) as new_prospects
    from logs group by source, prospect_id
    union all
    select 'page', page_id, prospect_id, count(*), sum(created_prospect) from logs
    where exists (select 1 from page_versions v where v.tenant_id = :tenantId and v.page_id = logs.page_id)
    group by page_id, prospect_id
  )
  select t.kind, t.name, t.prospect_id, t.count, t.new_prospects, (
      select max(d.day) from prospect_days d
      where d.tenant_id = :tenantId and d.prospect_id = t.prospect_id and d.kind = t.kind and d.name = t.name
        and d.day <= :day
    ) as last_day
  from tallied t cross join prospects p
  where p.tenant_id = :tenantId and p.prospect_id = t.prospect_id and p.erased_at is null`
const NAMES = `
  select distinct kind, name from prospect_counts
  where tenant_id = :tenantId and kind in ('page', 'source') and day = :day`
const LIST = `
  select day, name, sum(count) as count, sum(new_prospects) as new_prospects,
    coalesce(sum(count) filter (where days_since > coalesce(day - :firstDay, 0)), 0) as prospects
  from prospect_counts
  where tenant_id = :tenantId and kind = :kind and day >= :since and day < :until
  group by day, name order by day, name`
const REMOVE = `
  delete from prospect_days
  where (tenant_id, prospect_id, kind, name, day) in (
    select tenant_id, prospect_id, kind, name, day from prospect_days
    where tenant_id = :tenantId and prospect_id = :prospectId limit :max
  )`
const EXPIRE = `
  delete from prospect_days
  where (tenant_id, prospect_id, kind, name, day) in (
    select tenant_id, prospect_id, kind, name, day from prospect_days indexed by prospect_days_by_day
    where tenant_id = :tenantId and day < max(
      :before,
      coalesce((select max(day) - ${DAYS_KEPT} from prospect_days where tenant_id = :tenantId), :before)
    )
    order by day limit :max
  )`

export const sqliteProspectCounts = (database: Database): ProspectCounts => ({
  tally: async (lookup) => database.all<ProspectTally>(TALLY, lookup),
  namesOn: async (tenantId, day) =>
    database.all<{ readonly kind: CountedBy; readonly name: string }>(NAMES, { tenantId, day }),
  list: async (lookup) => database.all<DayCount>(LIST, lookup),
  removeOf: (prospect, max) => database.write(() => database.run(REMOVE, { ...prospect, max })),
  expire: (lookup) => database.write(() => database.run(EXPIRE, lookup) === lookup.max),
})
