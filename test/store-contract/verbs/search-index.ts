import { at } from '../rows.ts'
import type { PortVerbs } from './verb.ts'

export const searchIndex = {
  markSearched: {
    serves: 'callers',
    ask: ({ searchIndex }, { tenantId }) => searchIndex.markSearched(tenantId, at(1)),
    toStrangers: undefined,
  },
  find: {
    serves: 'callers',
    ask: ({ searchIndex }, { tenantId }) => searchIndex.find(tenantId),
    toStrangers: null,
  },
  waiting: {
    serves: 'publisher',
    ask: ({ searchIndex }) =>
      searchIndex.waiting({
        afterTenantId: '',
        searchedSince: at(0),
        beforeId: '~',
        checkBeforeId: '~',
        max: 8,
      }),
    noTenant: 'it asks which tenants have people to index',
  },
  extend: {
    serves: 'publisher',
    ask: ({ searchIndex }, { tenantId }) =>
      searchIndex.extend({ tenantId, mark: 'checked', from: '', beforeId: '~', max: 8 }),
    toStrangers: 0,
  },
  rewind: {
    serves: 'publisher',
    ask: ({ searchIndex }, { tenantId }) => searchIndex.rewind(tenantId, ''),
    toStrangers: undefined,
  },
} satisfies PortVerbs<'searchIndex'>
