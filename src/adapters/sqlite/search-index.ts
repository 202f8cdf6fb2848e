import type { ProspectKey } from '../../core/ports/prospects.ts'
import type { IndexedTenant, SearchIndex } from '../../core/ports/search-index.ts'
import { nameKeysOf } from '../../core/prospects/search-keys.ts'
import type { Database } from './open.ts'

const MARK = `
  insert into searched_tenants (tenant_id, searched_at) values (:tenantId, :searchedAt)
  on conflict (tenant_id) do update set searched_at = excluded.searched_at`
const FIND = 'select position, checked, searched_at from searched_tenants where tenant_id = :tenantId'
const WAITING = `
  select tenant_id from searched_tenants t
  where tenant_id > :afterTenantId and searched_at >= :searchedSince and (position >= :beforeId or exists (
    select 1 from prospects where tenant_id = t.tenant_id and prospect_id > t.position and prospect_id < :beforeId
  ) or exists (
    select 1 from prospects where tenant_id = t.tenant_id and prospect_id > t.checked and prospect_id < :checkBeforeId
  ))
  order by tenant_id limit :max`
const NEXT = `
  select tenant_id, prospect_id, name, is_searched from prospects
  where tenant_id = :tenantId and prospect_id > :from and prospect_id < :beforeId
  order by prospect_id limit :max`
const MOVE = {
  position: 'update searched_tenants set position = :to where tenant_id = :tenantId and position = :from',
  checked: 'update searched_tenants set checked = :to where tenant_id = :tenantId and checked = :from',
}
const INDEX = `
  update prospects set is_searched = 1, name_key = :nameKey, last_name_key = :lastNameKey
  where tenant_id = :tenantId and prospect_id = :prospectId`
const REWIND = `
  update searched_tenants set position = min(position, :to), checked = min(checked, :to) where tenant_id = :tenantId`

type NextRow = ProspectKey & { readonly name: string | null; readonly isSearched: number }

export const sqliteSearchIndex = (database: Database): SearchIndex => ({
  markSearched: (tenantId, searchedAt) =>
    database.write(() => void database.run(MARK, { tenantId, searchedAt })),
  find: async (tenantId) => database.get<IndexedTenant>(FIND, { tenantId }),
  waiting: async (lookup) =>
    database.all<{ tenantId: string }>(WAITING, lookup).map(({ tenantId }) => tenantId),
  extend: ({ mark, ...step }) =>
    database.write(() => {
      const next = database.all<NextRow>(NEXT, step)
      const to = next.at(-1)?.prospectId
      if (to === undefined || database.run(MOVE[mark], { ...step, to }) === 0) return 0
      for (const { tenantId, prospectId, name, isSearched } of next)
        if (!isSearched) database.run(INDEX, { tenantId, prospectId, ...nameKeysOf(name) })
      return next.length
    }),
  rewind: (tenantId, to) => database.write(() => void database.run(REWIND, { tenantId, to })),
})
