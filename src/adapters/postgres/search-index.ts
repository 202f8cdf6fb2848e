import type { IndexedTenant, SearchIndex } from '../../core/ports/search-index.ts'
import type { Query } from './sql.ts'

/** People are indexed by the partial indexes on `prospects`: `is_searched` adds a row to them. */
export const postgresSearchIndex = (query: Query): SearchIndex => ({
  markSearched: async (tenantId, searchedAt) => {
    await query(tenantId)`
      insert into searched_tenants (tenant_id, searched_at) values (${tenantId}, ${searchedAt})
      on conflict (tenant_id) do update set searched_at = excluded.searched_at`
  },

  find: async (tenantId) => {
    const [row] = await query(tenantId)<IndexedTenant>`
      select v.position, v.checked, v.searched_at from searched_tenants v where v.tenant_id = ${tenantId}`
    return row ?? null
  },

  waiting: async ({ afterTenantId, searchedSince, beforeId, checkBeforeId, max }) => {
    const rows = await query()<{ tenantId: string }>`
      select v.tenant_id from searched_tenants v
      where v.tenant_id > ${afterTenantId} and v.searched_at >= ${searchedSince}
        and (v.position >= ${beforeId} or exists (
          select 1 from prospects p
          where p.tenant_id = v.tenant_id and p.prospect_id > v.position and p.prospect_id < ${beforeId}
        ) or exists (
          select 1 from prospects p
          where p.tenant_id = v.tenant_id and p.prospect_id > v.checked and p.prospect_id < ${checkBeforeId}
        ))
      order by v.tenant_id limit ${max}`
    return rows.map(({ tenantId }) => tenantId)
  },

  /** The rows are changed along the primary key, so that two processes lock them in the same order. */
  extend: async ({ tenantId, mark, from, beforeId, max }) => {
    const isPosition = mark === 'position'
    const [row] = await query(tenantId)<{ readonly passed: number }>`
      with passed as (
        select count(*)::int as count, max(p.prospect_id) as last_id
        from (
          select p.prospect_id from prospects p
          where p.tenant_id = ${tenantId} and p.prospect_id > ${from} and p.prospect_id < ${beforeId}
          order by p.prospect_id limit ${max}
        ) p
      ), moved as (
        update searched_tenants v set position = case when ${isPosition} then passed.last_id else v.position end,
          checked = case when ${isPosition} then v.checked else passed.last_id end
        from passed
        where v.tenant_id = ${tenantId} and passed.count > 0
          and case when ${isPosition} then v.position else v.checked end = ${from}
        returning passed.count
      ), indexed as (
        update prospects p set is_searched = true
        where p.tenant_id = ${tenantId} and p.prospect_id > ${from}
          and p.prospect_id <= (select passed.last_id from passed) and not p.is_searched and exists (select 1 from moved)
      )
      select moved.count as passed from moved`
    return row?.passed ?? 0
  },

  rewind: async (tenantId, to) => {
    await query(tenantId)`
      update searched_tenants v set position = least(v.position, ${to}), checked = least(v.checked, ${to})
      where v.tenant_id = ${tenantId}`
  },
})
