import { at, newId } from '../rows.ts'
import type { PortVerbs } from './verb.ts'

export const events = {
  waiting: {
    serves: 'publisher',
    ask: ({ events }) => events.waiting('', 100),
    noTenant: 'the dispatcher works for all tenants in turn',
  },
  number: {
    serves: 'publisher',
    ask: ({ events }, { tenantId }) => events.number({ tenantId, now: at(5), max: 10 }),
    toStrangers: 0,
  },
  list: {
    serves: 'callers',
    ask: ({ events }, { tenantId }) => events.list({ tenantId, afterSequence: 0, limit: 100 }),
    toStrangers: { rows: [], last: 0 },
  },
  find: {
    serves: 'callers',
    ask: ({ events }, { tenantId }, { event: { eventId } }) => events.find({ tenantId, eventId }),
    toStrangers: null,
  },
  expire: {
    serves: 'publisher',
    ask: ({ events }, { tenantId }) => events.expire({ tenantId, beforeEventId: newId('event'), max: 10 }),
    toStrangers: false,
  },
} satisfies PortVerbs<'events'>
