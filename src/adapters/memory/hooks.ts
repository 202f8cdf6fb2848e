import type { Hooks, StoredHook } from '../../core/ports/hooks.ts'
import { takeSlice } from '../stores/take-slice.ts'
import { type IsActive, indexBy, type RegisterTable, tableOf } from './table.ts'

/** Calls `changed` after a hook was changed or removed. */
export const memoryHooks = (changed: () => void, registerTable: RegisterTable, isActive: IsActive): Hooks => {
  const hooks = registerTable(
    'hooks',
    tableOf({
      byId: indexBy<StoredHook>(['hookId']),
      byTenant: indexBy<StoredHook>(['tenantId'], ['hookId']),
      byKey: indexBy<StoredHook>(['tenantId', 'idempotencyKey']),
    }),
  )
  const { byId, byTenant, byKey } = hooks
  return {
    findByIds: async (hookIds) =>
      hookIds
        .flatMap((hookId) => structuredClone(byId.at({ hookId })) ?? [])
        .map((hook) => ({ ...hook, isSuspended: !isActive(hook) })),
    find: async (lookup) => structuredClone(byTenant.at(lookup) ?? null),
    list: async ({ tenantId, beforeId, limit }) =>
      structuredClone(takeSlice(byTenant.backFrom({ tenantId }, beforeId), limit)),
    slots: async (tenantId) => byTenant.after({ tenantId }).map(({ slot }) => slot),
    findByKey: async (lookup) => structuredClone(byKey.at(lookup) ?? null),
    add: async (hook) => {
      if (byTenant.after(hook).some(({ slot }) => slot === hook.slot) || byKey.at(hook)) return 'overtaken'
      hooks.add(structuredClone(hook))
      return 'recorded'
    },
    change: async (hook, lastUpdatedAt) => {
      const before = byTenant.at(hook)
      if (before?.updatedAt !== lastUpdatedAt) return 'overtaken'
      const { lastReceivedAt, lastRefusedAt, lastRefusal, lastWarnedAt, lastWarning, ...unseen } =
        structuredClone(hook)
      const { slot, createdAt, idempotencyKey, requestHash, ...changes } = unseen
      hooks.change(before, changes)
      changed()
      return 'recorded'
    },
    remove: async (lookup) => {
      const hook = byTenant.at(lookup)
      if (hook === undefined) return false
      hooks.remove(hook)
      changed()
      return true
    },
    markSeen: async (lookup, seen) => {
      const noted = Object.entries(seen).filter(([, value]) => value !== null)
      hooks.change(byTenant.at(lookup), Object.fromEntries(noted))
    },
  }
}
