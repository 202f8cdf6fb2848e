import type { TenantState } from '../../core/ports/api-keys.ts'
import type { HookKey, HookSeen, Hooks, StoredHook } from '../../core/ports/hooks.ts'
import { unlessOvertaken } from '../postgres/overtaken.ts'
import { COLUMNS, HOOK_CHANGES, type HookRow, storedHook } from '../stores/rows.ts'
import { AFTER_ALL_IDS, takeSlice } from '../stores/take-slice.ts'
import { columns, type Fragment, type Query, sql, textArray } from './sql.ts'
import { FORGET_KEYS, isSuspended } from './tenants.ts'

const HOOK = columns('h', COLUMNS.hooks)
const CHANGES = columns('h', HOOK_CHANGES)
const matchesId = ({ tenantId, hookId }: HookKey) => sql`h.tenant_id = ${tenantId} and h.hook_id = ${hookId}`

/** Calls `changed` after a hook was changed or removed. */
export const citusHooks = (query: Query, changed: () => void): Hooks => {
  const hooksWhere = async (condition: Fragment): Promise<StoredHook[]> => {
    const rows = await query()<HookRow>`select ${HOOK.selected} from hooks h where ${condition}`
    return rows.map(storedHook)
  }
  /** Returns `overtaken` if no row was written. */
  const write = async (statement: Fragment) => {
    const rows = await query()`with written as (${statement} returning 1) select ${FORGET_KEYS} from written`
    if (rows.length > 0) changed()
    return rows.length > 0
  }
  return {
    findByIds: async (hookIds) => {
      const rows = await query()<HookRow & TenantState>`
        select ${HOOK.selected}, ${isSuspended(sql`h.tenant_id`)} as is_suspended from hooks h
        where h.hook_id = any(${textArray(hookIds)}::text[])`
      return rows.map((row) => ({ ...storedHook(row), isSuspended: row.isSuspended }))
    },
    find: async (lookup) => (await hooksWhere(matchesId(lookup)))[0] ?? null,
    list: async ({ tenantId, beforeId, limit }) => {
      const before = beforeId ?? AFTER_ALL_IDS
      const older = sql`h.tenant_id = ${tenantId} and h.hook_id < ${before} order by h.hook_id desc limit ${limit + 1}`
      return takeSlice(await hooksWhere(older), limit)
    },
    slots: async (tenantId) => {
      const rows = await query()<{ slot: number }>`select slot from hooks where tenant_id = ${tenantId}`
      return rows.map(({ slot }) => slot)
    },
    findByKey: async ({ tenantId, idempotencyKey }) => {
      const byKey = sql`h.tenant_id = ${tenantId} and h.idempotency_key = ${idempotencyKey}`
      return (await hooksWhere(byKey))[0] ?? null
    },
    add: (hook) => unlessOvertaken(query()`insert into hooks ${HOOK.values([hook])}`),
    change: async (hook, lastUpdatedAt) => {
      const row = sql`update hooks h set (${CHANGES.names}) = (select * from ${CHANGES.fromShortest([hook])})
        , is_copied = false`
      const isChanged = await write(sql`${row} where ${matchesId(hook)} and h.updated_at = ${lastUpdatedAt}`)
      return isChanged ? 'recorded' : 'overtaken'
    },
    remove: (lookup) => write(sql`delete from hooks h where ${matchesId(lookup)}`),
    markSeen: async (lookup, seen: HookSeen) => {
      await query()`
        update hooks h set last_received_at = coalesce(${seen.lastReceivedAt}, h.last_received_at),
          last_refused_at = coalesce(${seen.lastRefusedAt}, h.last_refused_at),
          last_refusal = coalesce(${seen.lastRefusal}, h.last_refusal),
          last_warned_at = coalesce(${seen.lastWarnedAt}, h.last_warned_at),
          last_warning = coalesce(${seen.lastWarning}, h.last_warning)
        where ${matchesId(lookup)}`
    },
  }
}
