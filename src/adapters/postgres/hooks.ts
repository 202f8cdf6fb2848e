import type { TenantState } from '../../core/ports/api-keys.ts'
import type { HookSeen, Hooks } from '../../core/ports/hooks.ts'
import { COLUMNS, HOOK_CHANGES, type HookRow, storedHook } from '../stores/rows.ts'
import { AFTER_ALL_IDS, takeSlice } from '../stores/take-slice.ts'
import { unlessOvertaken } from './overtaken.ts'
import { columns, type Query, textArray } from './sql.ts'

const HOOK = columns('h', COLUMNS.hooks)
const CHANGES = columns('change', HOOK_CHANGES)

/** Changing or removing a hook notifies all processes in its commit, then calls `changed`. */
export const postgresHooks = (query: Query, changed: () => void): Hooks => ({
  findByIds: async (hookIds) => {
    const rows = await query()<HookRow & TenantState>`
      select ${HOOK.selected}, exists (
        select 1 from tenants t where t.tenant_id = h.tenant_id and t.suspended_at is not null
      ) as is_suspended
      from hooks h where h.hook_id = any (${textArray(hookIds)}::text[])`
    return rows.map((row) => ({ ...storedHook(row), isSuspended: row.isSuspended }))
  },

  find: async ({ tenantId, hookId }) => {
    const [row] = await query()<HookRow>`
      select ${HOOK.selected} from hooks h where h.tenant_id = ${tenantId} and h.hook_id = ${hookId}`
    return row === undefined ? null : storedHook(row)
  },

  list: async ({ tenantId, beforeId, limit }) => {
    const rows = await query()<HookRow>`
      select ${HOOK.selected} from hooks h
      where h.tenant_id = ${tenantId} and h.hook_id < ${beforeId ?? AFTER_ALL_IDS}
      order by h.hook_id desc limit ${limit + 1}`
    return takeSlice(rows.map(storedHook), limit)
  },

  slots: async (tenantId) => {
    const rows = await query()<{ slot: number }>`select h.slot from hooks h where h.tenant_id = ${tenantId}`
    return rows.map(({ slot }) => slot)
  },

  findByKey: async ({ tenantId, idempotencyKey }) => {
    const [row] = await query()<HookRow>`
      select ${HOOK.selected} from hooks h
      where h.tenant_id = ${tenantId} and h.idempotency_key = ${idempotencyKey}`
    return row === undefined ? null : storedHook(row)
  },

  add: (hook) =>
    unlessOvertaken(
      query()`insert into hooks (${HOOK.names}) select ${HOOK.values} from ${HOOK.from([hook])}`,
    ),

  change: async (hook, lastUpdatedAt) => {
    const rows = await query()`
      with changed as (
        update hooks h set (${CHANGES.names}) = (select ${CHANGES.values} from ${CHANGES.from([hook])})
        where h.tenant_id = ${hook.tenantId} and h.hook_id = ${hook.hookId} and h.updated_at = ${lastUpdatedAt}
        returning 1
      )
      select pg_notify('prospect_pages', 'keys') from changed`
    if (rows.length === 0) return 'overtaken'
    changed()
    return 'recorded'
  },

  remove: async ({ tenantId, hookId }) => {
    const rows = await query()`
      with removed as (
        delete from hooks h where h.tenant_id = ${tenantId} and h.hook_id = ${hookId} returning 1
      )
      select pg_notify('prospect_pages', 'keys') from removed`
    if (rows.length > 0) changed()
    return rows.length > 0
  },

  markSeen: async ({ tenantId, hookId }, seen: HookSeen) => {
    await query()`
      update hooks h set last_received_at = coalesce(${seen.lastReceivedAt}, h.last_received_at),
        last_refused_at = coalesce(${seen.lastRefusedAt}, h.last_refused_at),
        last_refusal = coalesce(${seen.lastRefusal}, h.last_refusal),
        last_warned_at = coalesce(${seen.lastWarnedAt}, h.last_warned_at),
        last_warning = coalesce(${seen.lastWarning}, h.last_warning)
      where h.tenant_id = ${tenantId} and h.hook_id = ${hookId}`
  },
})
