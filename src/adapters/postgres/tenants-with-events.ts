import { columns, type Piece, piece } from './sql.ts'

/** A row of a statement that stores logs, but none of a tenant that uses events: a log that it stored, or such a tenant. */
export type StoredRow =
  | { readonly prospectLogId: string; readonly tenantId: null }
  | { readonly prospectLogId: null; readonly tenantId: string }
export type NoteEvents = (tenantId: string) => void

/** After this many calls the statements are tried again for a tenant that had events. */
const CALLS_WITH_EVENTS = 1_000
const TENANTS_MAX = 10_000

const TENANT = columns('tenant', 'tenant_id')

/** Remembers which tenants had events, each for a number of calls. */
export const rememberTenantsWithEvents = () => {
  const callsLeft = new Map<string, number>()
  return {
    hasEvents: (tenantId: string): boolean => callsLeft.has(tenantId),
    noteEvents: (tenantId: string): void => {
      if (callsLeft.size >= TENANTS_MAX) callsLeft.clear()
      callsLeft.set(tenantId, CALLS_WITH_EVENTS)
    },
    /** Counts one call of a tenant. Call it once for each, before the others. */
    countDown: (tenantId: string): void => {
      const left = callsLeft.get(tenantId)
      if (left === undefined) return
      if (left === 0) callsLeft.delete(tenantId)
      else callsLeft.set(tenantId, left - 1)
    },
  }
}

/** The last part of such a statement: the tenants of its logs that use events. */
export const orTenantsWithEvents = (logs: readonly { readonly tenantId: string }[]): Piece => {
  const tenantIds = new Set(logs.map(({ tenantId }) => tenantId))
  return piece`
    union all
    select null, tenant.tenant_id from ${TENANT.fromFew(Array.from(tenantIds, (tenantId) => ({ tenantId })))}
    where (
      select true from webhook_endpoints w where w.tenant_id = tenant.tenant_id and w.status = 'enabled' limit 1
    )`
}

/** The ids of the logs that were stored. Calls `noteEvents` for the tenants that use events. */
export const storedIn = (rows: readonly StoredRow[], noteEvents: NoteEvents): ReadonlySet<string> => {
  const stored = new Set<string>()
  for (const { prospectLogId, tenantId } of rows) {
    if (prospectLogId === null) noteEvents(tenantId)
    else stored.add(prospectLogId)
  }
  return stored
}
