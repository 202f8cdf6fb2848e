import { at } from '../rows.ts'
import type { PortVerbs } from './verb.ts'

export const schedules = {
  waiting: {
    serves: 'publisher',
    ask: ({ schedules }) => schedules.waiting({ afterTenantId: '', until: at(9), max: 1 }),
    noTenant: 'it asks whose schedules are due; they are done tenant by tenant',
  },
  due: {
    serves: 'publisher',
    ask: ({ schedules }, { tenantId }) => schedules.due({ tenantId, until: at(9), max: 10 }),
    toStrangers: [],
  },
  ofPage: {
    serves: 'callers',
    ask: ({ schedules }, { tenantId }, { page: { pageGroupId, pageId } }) =>
      schedules.ofPage({ tenantId, pageGroupId, pageId }),
    toStrangers: [],
  },
  end: {
    serves: 'publisher',
    ask: ({ schedules }, { tenantId }, { page: { pageGroupId, pageId } }) =>
      schedules.end({ tenantId, pageGroupId, pageId }),
    toStrangers: undefined,
  },
} satisfies PortVerbs<'schedules'>
