import type { ServerResponse } from 'node:http'

type Tenant = { readonly id: string; bytes: number; readonly pending: Map<ServerResponse, number> }

/**
 * Limits the bytes of answers that their callers do not read. Past `bytesMax` in all, the tenant that has most of them
 * loses its oldest connections until the rest fits. A connection on which nothing moves for `stalledMsMax` is closed.
 */
export const limitPendingWrites = (bytesMax: number, stalledMsMax?: number) => {
  const tenants = new Map<string, Tenant>()
  let total = 0

  const forget = (tenant: Tenant, res: ServerResponse) => {
    const bytes = tenant.pending.get(res) ?? 0
    if (!tenant.pending.delete(res)) return
    total -= bytes
    tenant.bytes -= bytes
    if (tenant.pending.size === 0) tenants.delete(tenant.id)
  }
  const dropOldestOfLargest = () => {
    const [largest] = [...tenants.values()].sort((a, b) => b.bytes - a.bytes)
    const [oldest] = [...(largest?.pending ?? [])].find(([, bytes]) => bytes > 0) ?? []
    if (largest === undefined || oldest === undefined) return
    forget(largest, oldest)
    oldest.destroy()
    // An answer that waits behind another one is only freed with its connection.
    if (oldest.socket === null) oldest.req.socket.destroy()
  }

  /** Call it after each write, and once the reader has taken everything. */
  return (res: ServerResponse, tenantId = ''): void => {
    const tenant = tenants.get(tenantId) ?? { id: tenantId, bytes: 0, pending: new Map() }
    const counted = tenant.pending.get(res)
    const bytes = res.writableLength
    if ((bytes === 0 && counted === undefined) || res.destroyed) return
    tenants.set(tenantId, tenant)
    // A reader that continues becomes the newest.
    tenant.pending.delete(res)
    tenant.pending.set(res, bytes)
    tenant.bytes += bytes - (counted ?? 0)
    total += bytes - (counted ?? 0)
    // Emitted once the system has taken the last byte, and when the connection ends.
    if (counted === undefined) res.once('close', () => forget(tenant, res))
    if (counted === undefined && stalledMsMax !== undefined) res.setTimeout(stalledMsMax, () => res.destroy())
    while (total > bytesMax) dropOldestOfLargest()
  }
}
