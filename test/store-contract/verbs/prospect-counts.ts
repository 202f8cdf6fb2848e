import { COUNTED_DAY } from '../filled-tenant.ts'
import type { PortVerbs } from './verb.ts'

export const prospectCounts = {
  tally: {
    serves: 'publisher',
    ask: ({ prospectCounts }, { tenantId }) =>
      prospectCounts.tally({ tenantId, afterId: '', toId: '~', day: COUNTED_DAY }),
    toStrangers: [],
  },
  namesOn: {
    serves: 'publisher',
    ask: ({ prospectCounts }, { tenantId }) => prospectCounts.namesOn(tenantId, COUNTED_DAY),
    toStrangers: [],
  },
  list: {
    serves: 'callers',
    ask: ({ prospectCounts }, { tenantId }) => {
      const days = { since: COUNTED_DAY, until: COUNTED_DAY + 1, firstDay: COUNTED_DAY }
      return prospectCounts.list({ tenantId, kind: 'source', ...days })
    },
    toStrangers: [],
  },
  removeOf: {
    serves: 'publisher',
    ask: ({ prospectCounts }, { tenantId }, { prospect: { prospectId } }) =>
      prospectCounts.removeOf({ tenantId, prospectId }, 100),
    toStrangers: 0,
  },
  expire: {
    serves: 'publisher',
    ask: ({ prospectCounts }, { tenantId }) =>
      prospectCounts.expire({ tenantId, before: COUNTED_DAY + 1, max: 100 }),
    toStrangers: false,
  },
} satisfies PortVerbs<'prospectCounts'>
