import { changeOf, fillOf, identifiersOf, logKey, someLog } from '../rows.ts'
import type { PortVerbs } from './verb.ts'

export const activities = {
  recall: {
    serves: 'callers',
    ask: async ({ activities }, { tenantId }, { prospect, log }) =>
      activities.recall({
        tenantId,
        prospectId: prospect.prospectId,
        identifiers: identifiersOf({ ...prospect, tenantId }),
        key: logKey(String(log.idempotencyKey), log),
      }),
    toStrangers: { prospects: [], identifiers: [], receipt: null, countedId: null },
  },
  record: {
    serves: 'callers',
    ask: ({ activities }, { tenantId }, { prospect }) => {
      const named = { ...prospect, tenantId, name: 'Theirs' }
      const log = someLog(named)
      // A stranger adds all of it. Its owner has the prospect and its identifiers, and fills the name.
      const isOwner = tenantId === prospect.tenantId
      return activities.record(isOwner ? fillOf(prospect, { name: 'Theirs' }, log) : changeOf(named, log))
    },
    toStrangers: 'recorded',
  },
} satisfies PortVerbs<'activities'>
