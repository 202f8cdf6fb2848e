import { dayOf, isoTime } from '../../core/engine/times.ts'
import type { CountedTenant, Counts, LogCount, UsageSum } from '../../core/ports/counts.ts'
import { matchingCounts, placeOf } from '../stores/count-slices.ts'
import { COLUMNS } from '../stores/rows.ts'
import type { Database } from './open.ts'
import { insertInto } from './statements.ts'

const MARK = `
  insert into counted_tenants (tenant_id, position, closed_to, read_at) values (:tenantId, '', '', :readAt)
  on conflict (tenant_id) do update set read_at = excluded.read_at`
const FIND = `
  select position, closed_to, read_at, (
    select min(prospect_log_id) from prospect_logs where tenant_id = :tenantId and prospect_log_id > t.position
  ) as next_id
  from counted_tenants t where tenant_id = :tenantId`
const WAITING = `
  select tenant_id from counted_tenants t
  where tenant_id > :afterTenantId and read_at >= :readSince and (closed_to > :beyondId or exists (
    select 1 from prospect_logs
    where tenant_id = t.tenant_id and prospect_log_id > t.position and prospect_log_id < :beforeId
  ))
  order by tenant_id limit :max`
const CLOSE = 'update counted_tenants set closed_to = max(closed_to, :to) where tenant_id = :tenantId'
const TALLY = `
  select source, type, count(*) as count, sum(created_prospect) as new_prospects,
    max(prospect_log_id) as last_id
  from (
    select source, type, created_prospect, prospect_log_id from prospect_logs
    where tenant_id = :tenantId and prospect_log_id > :afterId and prospect_log_id < :beforeId
    order by prospect_log_id limit :max
  )
  group by source, type`
const MOVE = `
  update counted_tenants set position = :to, closed_to = iif(:removeFrom is null, max(closed_to, :to), :to)
  where tenant_id = :tenantId and position = :from`
const REMOVE = 'delete from prospect_log_counts where tenant_id = :tenantId and at >= :removeFrom'
const ADD = `
  ${insertInto('prospect_log_counts', COLUMNS.prospect_log_counts)}
  on conflict (tenant_id, unit, at, source, type) do update set count = count + excluded.count,
    new_prospects = new_prospects + excluded.new_prospects`
const REMOVE_PROSPECTS = 'delete from prospect_counts where tenant_id = :tenantId and day >= :day'
const REMOVE_DAYS = 'delete from prospect_days where tenant_id = :tenantId and day >= :day'
const ADD_PROSPECTS = `
  ${insertInto('prospect_counts', COLUMNS.prospect_counts)}
  on conflict (tenant_id, kind, day, name, days_since) do update set count = count + excluded.count,
    new_prospects = new_prospects + excluded.new_prospects`
// Prospects are read again: the days of one that was erased meanwhile would stay.
const ADD_DAY = `
  insert into prospect_days (tenant_id, prospect_id, kind, name, day)
  select tenant_id, prospect_id, :kind, :name, :day from prospects
  where tenant_id = :tenantId and prospect_id = :prospectId and erased_at is null
  on conflict do nothing`
const LIST = `
  select unit, at, source, type, count, new_prospects, place from (
    select *, row_number() over (order by at, source, type) as place from prospect_log_counts
    where tenant_id = :tenantId and unit = :unit and at >= :at and at < :until
      and (:isFirst or (at, source, type) > (:at, :afterSource, :afterType))
    order by at, source, type limit :limit
  )
  where place = :limit or (source = coalesce(:source, source) and type = coalesce(:type, type)) order by place`
const USE = `
  ${insertInto('usage_counts', COLUMNS.usage_counts)}
  on conflict (tenant_id, at, api_key_id) do update set requests = requests + excluded.requests,
    activities = activities + excluded.activities, bytes = bytes + excluded.bytes`
const FORGET = `
  delete from usage_counts where (tenant_id, at, api_key_id) in (
    select tenant_id, at, api_key_id from usage_counts where at < :before or at > :after limit :max
  )`
const sumOf = (condition: string) => `
  select tenant_id, api_key_id, sum(requests) as requests, sum(activities) as activities, sum(bytes) as bytes,
    min(min(at)) over () as since
  from (select * from usage_counts where ${condition} order by at desc limit :rowsMax)
  group by tenant_id, api_key_id order by requests desc limit :limit`
const SUM = sumOf('tenant_id = :tenantId and at >= :since')
const SUM_ALL = sumOf('at >= :since')

export const sqliteCounts = (database: Database): Counts => ({
  markRead: (tenantId, readAt) => database.write(() => void database.run(MARK, { tenantId, readAt })),
  find: async (tenantId) => database.get<CountedTenant>(FIND, { tenantId }),
  waiting: async (lookup) =>
    database.all<{ tenantId: string }>(WAITING, lookup).map(({ tenantId }) => tenantId),
  close: (tenantId, to, time) =>
    database.write(() => time <= isoTime(Date.now()) && database.run(CLOSE, { tenantId, to }) > 0),
  tally: async (lookup) => database.all<LogCount & { readonly lastId: string }>(TALLY, lookup),
  record: (change) =>
    database.write(() => {
      const { tenantId, removeFrom } = change
      if (database.run(MOVE, change) === 0) return 'overtaken'
      if (removeFrom === null) {
        for (const count of change.add) database.run(ADD, { ...count, tenantId })
        for (const count of change.addProspects) database.run(ADD_PROSPECTS, { ...count, tenantId })
        for (const day of change.addDays) database.run(ADD_DAY, { ...day, tenantId })
      } else {
        const day = dayOf(Date.parse(removeFrom))
        database.run(REMOVE, { tenantId, removeFrom })
        database.run(REMOVE_PROSPECTS, { tenantId, day })
        database.run(REMOVE_DAYS, { tenantId, day })
      }
      return 'recorded'
    }),
  list: async (lookup) => matchingCounts(database.all(LIST, { ...lookup, ...placeOf(lookup) }), lookup),
  addUsage: (at, used, remove) =>
    database.write(() => {
      database.run(FORGET, remove)
      for (const row of used) database.run(USE, { ...row, at })
    }),
  sumUsage: async (lookup) => database.all<UsageSum>(lookup.tenantId === null ? SUM_ALL : SUM, lookup),
})
