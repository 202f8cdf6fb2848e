import { isUnavailable, unavailable } from '../../core/engine/failures.ts'
import type { OfTenant } from '../../core/ports/api-keys.ts'
import { ANOTHER_WORKER, COPY_OF } from './by-node.ts'
import { type Query, sql } from './sql.ts'
import { isSuspended } from './tenants.ts'
import { withTimeout } from './with-timeout.ts'

/** A coordinator that takes longer than this is away. */
const LOOK_MS_MAX = 1_000
const REST_MS = 1_000
const AT_ONCE_MAX = 100

/** Follows a column in an update of a row. */
export const NOT_COPIED = sql`, is_copied = false`

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
export const copiesOf = <Row extends { readonly tenantId: string }>(
  query: Query,
  { pending, mark, keyOf, versionOf }: Copied<Row>,
) => {
  let restUntil = 0
  let awayUntil = 0
  let afterKey = ''
  let connected: Promise<unknown> = Promise.resolve()
  let connectedUntil = 0
  const put = (key: string, tenantId: string, row: string | null, version: string) => query(COPY_OF + key)`
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
      connected = withTimeout(query(ANOTHER_WORKER)`select 1`, LOOK_MS_MAX)
    }
    return connected.catch(() => Promise.reject(error))
  }
  const findCopies = async (keys: readonly string[], error: unknown): Promise<(Row & OfTenant)[]> => {
    await refuseIfCutOff(error)
    const asked = keys.map(
      (key) => query(COPY_OF + key)<OfTenant & { row: string | null }>`
        select c.row::text as row, ${isSuspended(sql`c.tenant_id`)} as is_suspended
        from identity_copies c where c.key = ${key}`,
    )
    const found = (await Promise.allSettled(asked)).map((one) =>
      one.status === 'fulfilled' ? one.value : [],
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
    find: async (keys: readonly string[], findRows: () => Promise<readonly (Row & OfTenant)[]>) => {
      if (performance.now() < awayUntil) return findCopies(keys, COORDINATOR_AWAY)
      const rows = await withTimeout(findRows(), LOOK_MS_MAX).catch((error) => {
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
