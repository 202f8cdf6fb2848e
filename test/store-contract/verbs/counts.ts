import { ALL_HOURS, COUNTED, COUNTED_DAY } from '../filled-tenant.ts'
import { at } from '../rows.ts'
import type { PortVerbs } from './verb.ts'

export const counts = {
  markRead: {
    serves: 'callers',
    ask: ({ counts }, { tenantId }) => counts.markRead(tenantId, at(1)),
    toStrangers: undefined,
  },
  find: {
    serves: 'callers',
    ask: ({ counts }, { tenantId }) => counts.find(tenantId),
    toStrangers: null,
  },
  waiting: {
    serves: 'publisher',
    ask: ({ counts }) =>
      counts.waiting({ afterTenantId: '', readSince: at(0), beforeId: '~', beyondId: '~', max: 8 }),
    noTenant: 'it asks which tenants have logs to count',
  },
  close: {
    serves: 'publisher',
    ask: ({ counts }, { tenantId }) => counts.close(tenantId, COUNTED, at(0)),
    toStrangers: false,
  },
  tally: {
    serves: 'publisher',
    ask: ({ counts }, { tenantId }) => counts.tally({ tenantId, afterId: '', beforeId: '~', max: 100 }),
    toStrangers: [],
  },
  record: {
    serves: 'publisher',
    ask: async ({ counts }, { tenantId }, { prospect: { prospectId } }) => {
      const unmoved = { tenantId, from: COUNTED, to: COUNTED }
      await counts.record({ ...unmoved, removeFrom: at(9) })
      const unit = 'day' as const
      const added = { unit, at: at(0), source: 'shop', type: 'ordered', count: 1, newProspects: 0 }
      const place = { kind: 'source', name: 'shop', day: COUNTED_DAY } as const
      const addProspects = [{ ...place, daysSince: 32, count: 1, newProspects: 0 }]
      const addDays = [{ ...place, prospectId }]
      return counts.record({ ...unmoved, removeFrom: null, add: [added], addProspects, addDays })
    },
    toStrangers: 'overtaken',
  },
  list: {
    serves: 'callers',
    ask: ({ counts }, { tenantId }) =>
      counts.list({
        tenantId,
        unit: 'hour',
        since: at(0),
        until: at(1),
        source: 'crm',
        type: null,
        after: null,
        limit: 9,
      }),
    toStrangers: { rows: [], resume: null },
  },
  addUsage: {
    serves: 'publisher',
    ask: ({ counts }, { tenantId }, { key: { apiKeyId } }) => {
      const used = { tenantId, apiKeyId, requests: 1, activities: 1, bytes: 1 }
      return counts.addUsage(at(0), [used], ALL_HOURS)
    },
    noTenant: 'one write has what the keys of all tenants used',
  },
  sumUsage: {
    serves: 'commands',
    ask: ({ counts }, { tenantId }) => counts.sumUsage({ tenantId, since: at(0), rowsMax: 10, limit: 10 }),
    toStrangers: [],
  },
} satisfies PortVerbs<'counts'>
