import { at, NOT_SEEN, someHook } from '../rows.ts'
import { type PortVerbs, SLICE } from './verb.ts'

export const hooks = {
  findByIds: {
    serves: 'callers',
    ask: ({ hooks }, _as, { hook }) => hooks.findByIds([hook.hookId]),
    noTenant: 'the hook determines the tenant',
  },
  find: {
    serves: 'callers',
    ask: ({ hooks }, { tenantId }, { hook: { hookId } }) => hooks.find({ tenantId, hookId }),
    toStrangers: null,
  },
  list: {
    serves: 'callers',
    ask: ({ hooks }, { tenantId }) => hooks.list({ tenantId, ...SLICE }),
    toStrangers: [],
  },
  findByKey: {
    serves: 'callers',
    ask: ({ hooks }, { tenantId }) => hooks.findByKey({ tenantId, idempotencyKey: 'one' }),
    toStrangers: null,
  },
  slots: {
    serves: 'callers',
    ask: ({ hooks }, { tenantId }) => hooks.slots(tenantId),
    toStrangers: [],
  },
  add: {
    serves: 'callers',
    ask: ({ hooks }, { tenantId }) => hooks.add(someHook(tenantId)),
    toStrangers: 'recorded',
  },
  change: {
    serves: 'callers',
    ask: ({ hooks }, { tenantId }, { hook }) =>
      hooks.change({ ...hook, tenantId, source: 'theirs', updatedAt: at(9) }, at(0)),
    toStrangers: 'overtaken',
  },
  remove: {
    serves: 'callers',
    ask: ({ hooks }, { tenantId }, { hook: { hookId } }) => hooks.remove({ tenantId, hookId }),
    toStrangers: false,
  },
  markSeen: {
    serves: 'callers',
    ask: ({ hooks }, { tenantId }, { hook: { hookId } }) =>
      hooks.markSeen({ tenantId, hookId }, { ...NOT_SEEN, lastReceivedAt: at(7) }),
    toStrangers: undefined,
  },
} satisfies PortVerbs<'hooks'>
