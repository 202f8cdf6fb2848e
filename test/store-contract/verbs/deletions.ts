import { at } from '../rows.ts'
import type { PortVerbs } from './verb.ts'

const NOT_BEGUN = { apiKeyId: null, afterPageId: '', afterEventId: '' }

export const deletions = {
  begin: {
    serves: 'callers',
    ask: ({ deletions }, { tenantId }, { group: { pageGroupId, updatedAt } }) =>
      deletions.begin({ tenantId, pageGroupId, apiKeyId: null, deletedAt: at(9) }, updatedAt),
    toStrangers: 'overtaken',
  },
  waiting: {
    serves: 'publisher',
    ask: ({ deletions }) => deletions.waiting('', 100),
    noTenant: 'it asks which tenants have deletions that are not completed',
  },
  next: {
    serves: 'publisher',
    ask: ({ deletions }, { tenantId }) => deletions.next(tenantId),
    toStrangers: null,
  },
  pages: {
    serves: 'publisher',
    ask: ({ deletions }, { tenantId }, { group: { pageGroupId } }) =>
      deletions.pages({ tenantId, pageGroupId, ...NOT_BEGUN }, 9),
    toStrangers: [],
  },
  record: {
    serves: 'publisher',
    ask: ({ deletions }, { tenantId }, { doomed: { pageGroupId } }) =>
      deletions.record({ tenantId, pageGroupId, ...NOT_BEGUN }, { afterPageId: 'p', afterEventId: 'e' }),
    toStrangers: 'overtaken',
  },
} satisfies PortVerbs<'deletions'>
