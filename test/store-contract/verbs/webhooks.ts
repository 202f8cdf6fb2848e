import { namesOf } from '../outbox.ts'
import { at, someEndpoint } from '../rows.ts'
import { delivered } from '../webhooks.ts'
import { NOTHING, type PortVerbs, SHORT_CLAIM, SLICE } from './verb.ts'

export const webhooks = {
  list: {
    serves: 'callers',
    ask: ({ webhooks }, { tenantId }) => webhooks.list(tenantId),
    toStrangers: [],
  },
  add: {
    serves: 'callers',
    ask: ({ webhooks }, { tenantId }) => webhooks.add(someEndpoint(tenantId)),
    toStrangers: 'recorded',
  },
  change: {
    serves: 'callers',
    ask: ({ webhooks }, { tenantId }, { endpoint }) =>
      webhooks.change({ ...endpoint, tenantId, url: 'https://theirs', updatedAt: at(9) }, at(0)),
    toStrangers: 'overtaken',
  },
  claim: {
    serves: 'publisher',
    ask: ({ webhooks }) => webhooks.claim(SHORT_CLAIM),
    noTenant: 'the sender works for all tenants; each claim names its tenant',
  },
  due: {
    serves: 'publisher',
    ask: ({ webhooks }, { tenantId }, { endpoint }) =>
      webhooks.due({ ...namesOf(endpoint), tenantId, now: at(9), max: 10 }),
    toStrangers: [],
  },
  settle: {
    serves: 'publisher',
    ask: ({ webhooks }, { tenantId }, { endpoint, event: { eventId } }) => {
      const state = { failures: 7, failingSince: at(1), lastError: null, claimableAt: null, readAt: at(9) }
      return webhooks.settle({ ...endpoint, tenantId }, [delivered(eventId)], state)
    },
    toStrangers: false,
  },
  sweep: {
    serves: 'publisher',
    ask: ({ webhooks }, { tenantId }, { disabled }) =>
      webhooks.sweep({ ...disabled, tenantId }, 'theirs', 1, true),
    toStrangers: false,
  },
  deliveries: {
    serves: 'callers',
    ask: ({ webhooks }, { tenantId }, { endpoint }) =>
      webhooks.deliveries({ ...namesOf(endpoint), tenantId, status: null, ...SLICE }),
    toStrangers: NOTHING,
  },
  retry: {
    serves: 'callers',
    ask: ({ webhooks }, { tenantId }, { endpoint, event: { eventId } }) =>
      webhooks.retry({ ...namesOf(endpoint), tenantId, eventId, now: at(9) }),
    toStrangers: null,
  },
  replay: {
    serves: 'callers',
    ask: ({ webhooks }, { tenantId }, { endpoint }) => {
      const firstDelivered = { afterEventId: '', delivered: true, now: at(9), max: 1 }
      return webhooks.replay({ ...namesOf(endpoint), tenantId, ...firstDelivered })
    },
    toStrangers: { made: 0, lastEventId: null },
  },
  backlog: {
    serves: 'publisher',
    ask: ({ webhooks }) => webhooks.backlog(100),
    noTenant: 'it counts for the metrics',
  },
} satisfies PortVerbs<'webhooks'>
