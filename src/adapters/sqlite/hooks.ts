import type { TenantState } from '../../core/ports/api-keys.ts'
import type { Hooks } from '../../core/ports/hooks.ts'
import { COLUMNS, HOOK_CHANGES, type HookRow, storedHook } from '../stores/rows.ts'
import type { Database } from './open.ts'
import { BEFORE_ID, insertInto, valuesFor } from './statements.ts'
import { isSuspended } from './tenants.ts'

const HOOK = `select ${Object.keys(COLUMNS.hooks)} from hooks`
const THAT = 'where tenant_id = :tenantId and hook_id = :hookId'
const BY_ID = `select *, ${isSuspended('h')} as is_suspended from hooks h where hook_id = :hookId`
const LIST = `
  ${HOOK} where tenant_id = :tenantId and hook_id < ${BEFORE_ID} order by hook_id desc limit :limit + 1`
const BY_KEY = `${HOOK} where tenant_id = :tenantId and idempotency_key = :idempotencyKey`
const ADD = insertInto('hooks', COLUMNS.hooks)
const CHANGING = Object.keys(HOOK_CHANGES)
const CHANGE = `
  update hooks set (${CHANGING}) = (${valuesFor(CHANGING)}) ${THAT} and updated_at = :lastUpdatedAt`
const MARK = `
  update hooks set last_received_at = coalesce(:lastReceivedAt, last_received_at),
    last_refused_at = coalesce(:lastRefusedAt, last_refused_at), last_refusal = coalesce(:lastRefusal, last_refusal),
    last_warned_at = coalesce(:lastWarnedAt, last_warned_at), last_warning = coalesce(:lastWarning, last_warning)
  ${THAT}`

/** Calls `changed` after a hook was changed or removed. */
export const sqliteHooks = (database: Database, changed: () => void): Hooks => ({
  findByIds: async (hookIds) =>
    hookIds.flatMap((hookId) =>
      database
        .all<HookRow & TenantState>(BY_ID, { hookId })
        .map(({ isSuspended, ...row }) => ({ ...storedHook(row), isSuspended: Boolean(isSuspended) })),
    ),
  find: async (lookup) => {
    const row = database.get<HookRow>(`${HOOK} ${THAT}`, lookup)
    return row && storedHook(row)
  },
  list: async (lookup) => database.slice<HookRow>(LIST, lookup).map(storedHook),
  slots: async (tenantId) =>
    database
      .all<{ slot: number }>('select slot from hooks where tenant_id = :tenantId', { tenantId })
      .map(({ slot }) => slot),
  findByKey: async (lookup) => {
    const row = database.get<HookRow>(BY_KEY, lookup)
    return row && storedHook(row)
  },
  add: async (hook) => {
    const added = await database.record(() => database.run(ADD, hook))
    return added === 'overtaken' ? added : 'recorded'
  },
  change: async (hook, lastUpdatedAt) => {
    const count = await database.write(() => database.run(CHANGE, { ...hook, lastUpdatedAt }))
    if (count > 0) changed()
    return count > 0 ? 'recorded' : 'overtaken'
  },
  remove: async ({ tenantId, hookId }) => {
    const count = await database.write(() => database.run(`delete from hooks ${THAT}`, { tenantId, hookId }))
    if (count > 0) changed()
    return count > 0
  },
  markSeen: async ({ tenantId, hookId }, seen) => {
    await database.write(() => database.run(MARK, { ...seen, tenantId, hookId }))
  },
})
