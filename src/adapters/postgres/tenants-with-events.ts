import { columns, type Piece, piece } from './sql.ts'

/** A row of a statement that stores logs, but none of a tenant that uses events: a log that it stored, or such a tenant. */
export type StoredRow =
  | { readonly prospectLogId: string; readonly tenantId: null }
  | { readonly prospectLogId: null; readonly tenantId: string }
export type NoteEvents = (tenantId: string) => void

const TENANT = columns('tenant', 'tenant_id')

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
