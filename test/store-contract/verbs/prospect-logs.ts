import { readEach } from '../rows.ts'
import { NOTHING, type PortVerbs, SLICE } from './verb.ts'

export const prospectLogs = {
  find: {
    serves: 'callers',
    ask: ({ prospectLogs }, { tenantId }, { log: { prospectLogId } }) =>
      prospectLogs.find({ tenantId, prospectLogId }),
    toStrangers: null,
  },
  list: {
    serves: 'callers',
    ask: ({ prospectLogs }, { tenantId }, { log: { source, idempotencyKey } }) =>
      readEach(
        prospectLogs.list,
        [null, idempotencyKey].map((idempotencyKey) => ({
          tenantId,
          source,
          idempotencyKey,
          type: null,
          fromId: null,
          ...SLICE,
        })),
      ),
    toStrangers: [NOTHING, NOTHING],
  },
  timeline: {
    serves: 'callers',
    ask: ({ prospectLogs }, { tenantId }, { prospect: { prospectId } }) =>
      prospectLogs.timeline({
        tenantId,
        prospectId,
        source: null,
        type: null,
        since: null,
        before: null,
        limit: 100,
      }),
    toStrangers: 'prospect_not_found',
  },
  listOldest: {
    serves: 'commands',
    ask: ({ prospectLogs }, { tenantId }) =>
      prospectLogs.listOldest({ tenantId, afterId: '', beforeId: '~', limit: 100 }),
    toStrangers: [],
  },
} satisfies PortVerbs<'prospectLogs'>
