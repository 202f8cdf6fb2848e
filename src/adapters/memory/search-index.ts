import type { IndexedTenant, SearchIndex } from '../../core/ports/search-index.ts'
import type { People } from './people.ts'
import { indexBy, tableOf } from './table.ts'

/** Notes how far people are indexed. In memory they always are. */
export const memorySearchIndex = ({ prospects, outbox: { registerTable } }: People): SearchIndex => {
  const tenants = registerTable(
    'searched_tenants',
    tableOf({ byId: indexBy<IndexedTenant & { readonly tenantId: string }>([], ['tenantId']) }),
  )
  const peopleAfter = (tenantId: string, afterId: string, beforeId: string, max: number) =>
    prospects.byId.after({ tenantId }, afterId, beforeId, max)
  return {
    markSearched: async (tenantId, searchedAt) => {
      if (!tenants.change(tenants.byId.at({ tenantId }), { searchedAt }))
        tenants.add({ tenantId, position: '', checked: '', searchedAt })
    },
    find: async (tenantId) => {
      const found = tenants.byId.at({ tenantId })
      if (found === undefined) return null
      const { position, checked, searchedAt } = found
      return { position, checked, searchedAt }
    },
    waiting: async ({ afterTenantId, searchedSince, beforeId, checkBeforeId, max }) =>
      tenants.byId
        .after({}, afterTenantId)
        .filter(({ tenantId, position, checked, searchedAt }) => {
          if (searchedAt < searchedSince) return false
          if (position >= beforeId) return true
          return (
            peopleAfter(tenantId, position, beforeId, 1).length > 0 ||
            peopleAfter(tenantId, checked, checkBeforeId, 1).length > 0
          )
        })
        .slice(0, max)
        .map(({ tenantId }) => tenantId),
    extend: async ({ tenantId, mark, from, beforeId, max }) => {
      const found = tenants.byId.at({ tenantId })
      const people = [...peopleAfter(tenantId, from, beforeId, max)]
      const last = people.at(-1)
      if (found?.[mark] !== from || last === undefined) return 0
      tenants.change(found, { [mark]: last.prospectId })
      return people.length
    },
    rewind: async (tenantId, to) => {
      const found = tenants.byId.at({ tenantId })
      if (found === undefined) return
      const { position, checked } = found
      tenants.change(found, {
        position: position < to ? position : to,
        checked: checked < to ? checked : to,
      })
    },
  }
}
