import { isUnavailable, unavailable } from '../../core/engine/failures.ts'
import type { ApiKeys, StoredApiKey, TenantState } from '../../core/ports/api-keys.ts'
import type { Hooks, StoredHook } from '../../core/ports/hooks.ts'
import { withTimeout } from '../postgres/with-timeout.ts'
import { type ApiKeyRow, COLUMNS, type HookRow, storedApiKey, storedHook } from '../stores/rows.ts'
import { BRIEF_MS_MAX, type Routes } from './nodes.ts'
import { columns, type Query, queryOver, sql } from './sql.ts'
import { isSuspended } from './tenants.ts'

const REST_MS = 1_000
const AT_ONCE_MAX = 100

type CopyRoutes = Pick<Routes, 'copyOf' | 'anotherWorker'>
type Copied<Row> = {
  /** Rows of the coordinator that are not copied yet, by key, after a given key. */
  readonly pending: (afterKey: string, max: number) => Promise<readonly Row[]>
  /** Marks a row as copied, if it is unchanged. */
  readonly mark: (row: Row) => Promise<unknown>
  readonly keyOf: (row: Row) => string
  /** A version of the row that sorts after all earlier ones. */
  readonly versionOf: (row: Row) => string
}

/**
 * On a cluster the rows that identify callers are on the coordinator, which decides: so a key can be revoked while any
 * worker is away. For times when the coordinator is away, each row is copied to the worker that the hash of its key
 * names. Later look-ups make the copies that a worker missed; an older copy never replaces a newer one.
 */
const copiesOf = <Row extends { readonly tenantId: string }>(
  { copyOf, anotherWorker }: CopyRoutes,
  { pending, mark, keyOf, versionOf }: Copied<Row>,
) => {
  let restUntil = 0
  let awayUntil = 0
  let afterKey = ''
  let connected: Promise<unknown> = Promise.resolve()
  let connectedUntil = 0
  const queryAt = (key: string) => queryOver(copyOf(key))()
  const put = (key: string, tenantId: string, row: string | null, version: string) => queryAt(key)`
    insert into identity_copies as c (key, tenant_id, row, version)
    values (${key}, ${tenantId}, ${row}::text::json, ${version})
    on conflict (key) do update set row = excluded.row, version = excluded.version
      where c.version < excluded.version`
  const copyOne = async (row: Row) => {
    await put(keyOf(row), row.tenantId, JSON.stringify(row), versionOf(row))
    await mark(row)
  }
  /** Copies rows to the workers that can be reached. The next call continues after the last row. */
  const copyPending = async (): Promise<void> => {
    restUntil = performance.now() + REST_MS
    const rows = await pending(afterKey, AT_ONCE_MAX).catch(() => [])
    const last = rows[AT_ONCE_MAX - 1]
    afterKey = last ? keyOf(last) : ''
    await Promise.allSettled(rows.map(copyOne))
  }
  /** Refuses on a machine cut off from all others: its copies may be older than revocations on the other machines. */
  const refuseIfCutOff = (error: unknown) => {
    if (performance.now() > connectedUntil) {
      connectedUntil = performance.now() + REST_MS
      // Its own node may be away, too: then the others are asked after a look at it.
      connected = withTimeout(queryOver(anotherWorker)()`select 1`, 2 * BRIEF_MS_MAX)
    }
    return connected.catch(() => Promise.reject(error))
  }
  const findCopies = async (keys: readonly string[], error: unknown): Promise<(Row & TenantState)[]> => {
    await refuseIfCutOff(error)
    const asked = keys.map(
      (key) => queryAt(key)<TenantState & { row: string | null }>`
        select c.row::text as row, ${isSuspended(sql`c.tenant_id`)} as is_suspended
        from identity_copies c where c.key = ${key}`,
    )
    const found = (await Promise.allSettled(asked)).map((answer) =>
      answer.status === 'fulfilled' ? answer.value : [],
    )
    // A key may exist without a copy. Several keys are looked up again one by one: a guessed key fails no other caller.
    if (found.some(({ length }) => length === 0))
      throw keys.length === 1 ? error : new Error('Not every key has a copy.')
    return found
      .flat()
      .flatMap(({ row, isSuspended }) => (row === null ? [] : { ...JSON.parse(row), isSuspended }))
  }
  return {
    /** Copies a row after it was changed. */
    copy: (row: Row) => copyOne(row).catch(() => {}),
    /** Finds rows by `findRows`; while the coordinator is away, their copies. */
    find: async (keys: readonly string[], findRows: () => Promise<readonly (Row & TenantState)[]>) => {
      if (performance.now() < awayUntil) return findCopies(keys, COORDINATOR_AWAY)
      const rows = await withTimeout(findRows(), BRIEF_MS_MAX).catch((error) => {
        if (!isUnavailable(error)) throw error
        awayUntil = performance.now() + REST_MS
        return findCopies(keys, error)
      })
      if (performance.now() > restUntil) void copyPending()
      return rows
    },
    /** Removes a copy. Call it before the row is removed: a removed row must not be found as a copy. */
    remove: (key: string, tenantId: string) => put(key, tenantId, null, 'removed'),
  }
}

const COORDINATOR_AWAY = unavailable('The coordinator of the database does not answer.')

const KEY = columns('k', COLUMNS.api_keys)
const HOOK = columns('h', COLUMNS.hooks)

/** API keys that are copied, and found while the coordinator is away. `central` asks the coordinator. */
export const copiedKeys = (keys: ApiKeys, central: Query, routes: CopyRoutes): ApiKeys => {
  const copies = copiesOf<StoredApiKey>(routes, {
    pending: async (afterKey, max) => {
      const rows = await central()<ApiKeyRow>`
        select ${KEY.selected} from api_keys k
        where not k.is_copied and k.key_hash > ${afterKey} order by k.key_hash limit ${max}`
      return rows.map(storedApiKey)
    },
    mark: ({ apiKeyId, revokedAt, rotatedAt }) => central()`
      update api_keys set is_copied = true where api_key_id = ${apiKeyId}
        and revoked_at is not distinct from ${revokedAt} and rotated_at is not distinct from ${rotatedAt}`,
    keyOf: ({ keyHash }) => keyHash,
    versionOf: ({ revokedAt, rotatedAt }) => `${revokedAt ?? ''} ${rotatedAt ?? ''}`,
  })
  return {
    ...keys,
    findByHashes: (keyHashes) => copies.find(keyHashes, () => keys.findByHashes(keyHashes)),
    end: async (apiKeyId, when) => {
      if (!(await keys.end(apiKeyId, when))) return false
      const ended = await keys.find(apiKeyId).catch(() => null)
      if (ended !== null) await copies.copy(ended)
      return true
    },
  }
}

/** Hooks that are copied, and found while the coordinator is away. `central` asks the coordinator. */
export const copiedHooks = (hooks: Hooks, central: Query, routes: CopyRoutes): Hooks => {
  const copies = copiesOf<StoredHook>(routes, {
    pending: async (afterKey, max) => {
      const rows = await central()<HookRow>`
        select ${HOOK.selected} from hooks h
        where not h.is_copied and h.hook_id > ${afterKey} order by h.hook_id limit ${max}`
      return rows.map(storedHook)
    },
    mark: ({ tenantId, hookId, updatedAt }) => central()`
      update hooks set is_copied = true
      where tenant_id = ${tenantId} and hook_id = ${hookId} and updated_at = ${updatedAt}`,
    keyOf: ({ hookId }) => hookId,
    versionOf: ({ updatedAt }) => updatedAt,
  })
  return {
    ...hooks,
    findByIds: (hookIds) => copies.find(hookIds, () => hooks.findByIds(hookIds)),
    change: async (hook, lastUpdatedAt) => {
      const recorded = await hooks.change(hook, lastUpdatedAt)
      if (recorded === 'recorded') await copies.copy(hook)
      return recorded
    },
    remove: async (lookup) => {
      if ((await hooks.find(lookup)) === null) return false
      await copies.remove(lookup.hookId, lookup.tenantId)
      return hooks.remove(lookup)
    },
  }
}
