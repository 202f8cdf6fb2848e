import { dayOf } from '../../core/engine/times.ts'
import type { CountedTenant, Counts, LogCount, UsageSum } from '../../core/ports/counts.ts'
import { matchingCounts, placeOf } from '../stores/count-slices.ts'
import { COLUMNS, without } from '../stores/rows.ts'
import { columns, type Query } from './sql.ts'

const ADDED = columns('added', 'unit, at timestamptz, source, type, count bigint, new_prospects bigint')
const PROSPECTS = columns('prospects', without(COLUMNS.prospect_counts, 'tenant_id'))
const DAYS = columns('days', without(COLUMNS.prospect_days, 'tenant_id'))
const USED = columns('used', COLUMNS.usage_counts)

export const postgresCounts = (query: Query): Counts => ({
  markRead: async (tenantId, readAt) => {
    await query(tenantId)`
      insert into counted_tenants (tenant_id, position, closed_to, read_at) values (${tenantId}, '', '', ${readAt})
      on conflict (tenant_id) do update set read_at = excluded.read_at`
  },

  find: async (tenantId) => {
    const [row] = await query(tenantId)<CountedTenant>`
      select v.position, v.closed_to, v.read_at, (
        select min(l.prospect_log_id) from prospect_logs l
        where l.tenant_id = v.tenant_id and l.prospect_log_id > v.position
      ) as next_id
      from counted_tenants v where v.tenant_id = ${tenantId}`
    return row ?? null
  },

  waiting: async ({ afterTenantId, readSince, beforeId, beyondId, max }) => {
    const rows = await query()<{ tenantId: string }>`
      select v.tenant_id from counted_tenants v
      where v.tenant_id > ${afterTenantId} and v.read_at >= ${readSince}
        and (v.closed_to > ${beyondId} or exists (
          select 1 from prospect_logs l
          where l.tenant_id = v.tenant_id and l.prospect_log_id > v.position and l.prospect_log_id < ${beforeId}
        ))
      order by v.tenant_id limit ${max}`
    return rows.map(({ tenantId }) => tenantId)
  },

  close: async (tenantId, to, time) => {
    const rows = await query(tenantId)`
      update counted_tenants v set closed_to = greatest(v.closed_to, ${to})
      where v.tenant_id = ${tenantId} and ${time}::timestamptz <= clock_timestamp()
      returning 1`
    return rows.length > 0
  },

  tally: ({ tenantId, afterId, beforeId, max }) => query(tenantId)<LogCount & { readonly lastId: string }>`
    select l.source, l.type, count(*)::int as count,
      count(*) filter (where l.created_prospect)::int as new_prospects, max(l.prospect_log_id) as last_id
    from (
      select l.source, l.type, l.created_prospect, l.prospect_log_id from prospect_logs l
      where l.tenant_id = ${tenantId} and l.prospect_log_id > ${afterId} and l.prospect_log_id < ${beforeId}
      order by l.prospect_log_id limit ${max}
    ) l
    group by l.source, l.type`,

  /** Prospects are read again: the days of one that was erased meanwhile would stay. */
  record: async (change) => {
    const { tenantId, from, to } = change
    const rows =
      change.removeFrom === null
        ? await query(tenantId)`
          with moved as (
            update counted_tenants v set position = ${to}, closed_to = greatest(v.closed_to, ${to})
            where v.tenant_id = ${tenantId} and v.position = ${from}
            returning v.tenant_id
          ), counted as (
            insert into prospect_log_counts as c (tenant_id, ${ADDED.names})
            select moved.tenant_id, ${ADDED.values} from moved cross join ${ADDED.from(change.add)}
            on conflict (tenant_id, unit, at, source, type) do update set count = c.count + excluded.count,
              new_prospects = c.new_prospects + excluded.new_prospects
          ), prospects_counted as (
            insert into prospect_counts as c (tenant_id, ${PROSPECTS.names})
            select moved.tenant_id, ${PROSPECTS.values} from moved cross join ${PROSPECTS.from(change.addProspects)}
            on conflict (tenant_id, kind, day, name, days_since) do update set count = c.count + excluded.count,
              new_prospects = c.new_prospects + excluded.new_prospects
          ), days_added as (
            insert into prospect_days (tenant_id, ${DAYS.names})
            select moved.tenant_id, ${DAYS.values} from moved cross join ${DAYS.from(change.addDays)}
              join prospects p on p.tenant_id = ${tenantId} and p.prospect_id = days.prospect_id and p.erased_at is null
            on conflict do nothing
          )
          select 1 from moved`
        : await query(tenantId)`
          with moved as (
            update counted_tenants v set position = ${to}, closed_to = ${to}
            where v.tenant_id = ${tenantId} and v.position = ${from}
            returning v.tenant_id
          ), removed as (
            delete from prospect_log_counts c using moved
            where c.tenant_id = moved.tenant_id and c.at >= ${change.removeFrom}
          ), prospects_removed as (
            delete from prospect_counts c using moved
            where c.tenant_id = moved.tenant_id and c.day >= ${dayOf(Date.parse(change.removeFrom))}
          ), days_removed as (
            delete from prospect_days d using moved
            where d.tenant_id = moved.tenant_id and d.day >= ${dayOf(Date.parse(change.removeFrom))}
          )
          select 1 from moved`
    return rows.length > 0 ? 'recorded' : 'overtaken'
  },

  /** The first slice includes its place, as true is greater than false. Later ones begin after theirs. */
  list: async (lookup) => {
    const { tenantId, unit, until, source, type, limit } = lookup
    const { at, afterSource, afterType, isFirst } = placeOf(lookup)
    const rows = await query(tenantId)<LogCount & { readonly place: number }>`
      select c.unit, c.at, c.source, c.type, c.count, c.new_prospects, c.place::int
      from (
        select c.*, row_number() over (order by c.at, c.source, c.type) as place from prospect_log_counts c
        where c.tenant_id = ${tenantId} and c.unit = ${unit} and c.at < ${until}
          and (c.at, c.source, c.type, true) > (${at}, ${afterSource}, ${afterType}, ${!isFirst}::boolean)
        order by c.at, c.source, c.type limit ${limit}
      ) c
      where c.place = ${limit}
        or (c.source = coalesce(${source}, c.source) and c.type = coalesce(${type}, c.type))
      order by c.place`
    return matchingCounts(
      rows.map((row) => ({ ...row, count: Number(row.count), newProspects: Number(row.newProspects) })),
      lookup,
    )
  },

  // Sorted: two processes that add to the same rows must not deadlock.
  addUsage: async (at, used, { before, after, max }) => {
    await query()`
      with removed as (
        delete from usage_counts where ctid = any(array(
          select ctid from usage_counts where at < ${before} or at > ${after}
          limit ${max} for update skip locked
        ))
      )
      insert into usage_counts as c (${USED.names})
      select ${USED.values} from ${USED.from(used.map((row) => ({ ...row, at })))}
      order by used.tenant_id, used.api_key_id
      on conflict (tenant_id, at, api_key_id) do update set requests = c.requests + excluded.requests,
        activities = c.activities + excluded.activities, bytes = c.bytes + excluded.bytes`
  },

  sumUsage: ({ tenantId, since, rowsMax, limit }) =>
    tenantId === null
      ? query()<UsageSum>`
        select c.tenant_id, c.api_key_id, sum(c.requests)::float8 as requests,
          sum(c.activities)::float8 as activities, sum(c.bytes)::float8 as bytes, min(min(c.at)) over () as since
        from (
          select * from usage_counts c where c.at >= ${since} order by c.at desc limit ${rowsMax}
        ) c
        group by c.tenant_id, c.api_key_id order by requests desc limit ${limit}`
      : query()<UsageSum>`
        select c.tenant_id, c.api_key_id, sum(c.requests)::float8 as requests,
          sum(c.activities)::float8 as activities, sum(c.bytes)::float8 as bytes, min(min(c.at)) over () as since
        from (
          select * from usage_counts c where c.tenant_id = ${tenantId} and c.at >= ${since}
          order by c.at desc limit ${rowsMax}
        ) c
        group by c.tenant_id, c.api_key_id order by requests desc limit ${limit}`,
})
