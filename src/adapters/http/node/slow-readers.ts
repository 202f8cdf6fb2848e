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
  const tenantWithMost = (): Tenant | undefined => {
    let most: Tenant | undefined
    for (const tenant of tenants.values()) {
      if (most === undefined || tenant.bytes > most.bytes) most = tenant
    }
    return most
  }
  const dropOldestOfLargest = () => {
    const tenant = tenantWithMost()
    const oldest = tenant && oldestUnread(tenant)
    if (tenant === undefined || oldest === undefined) return
    forget(tenant, oldest)
    oldest.destroy()
    // An answer that waits behind another one is only freed with its connection.
    if (oldest.socket === null) oldest.req.socket.destroy()
  }

  /** Call it after each write, and once the reader has taken everything. */
  return (res: ServerResponse, tenantId = ''): void => {
    const known = tenants.get(tenantId)
    const counted = known?.pending.get(res)
    const bytes = res.writableLength
    if ((bytes === 0 && counted === undefined) || res.destroyed) return
    const tenant = known ?? { id: tenantId, bytes: 0, pending: new Map() }
    tenants.set(tenantId, tenant)
    // A reader that continues becomes the newest.
    tenant.pending.delete(res)
    tenant.pending.set(res, bytes)
    const more = bytes - (counted ?? 0)
    tenant.bytes += more
    total += more
    if (counted === undefined) {
      // Emitted once the system has taken the last byte, and when the connection ends.
      res.once('close', () => forget(tenant, res))
      if (stalledMsMax !== undefined) res.setTimeout(stalledMsMax, () => res.destroy())
    }
    while (total > bytesMax) dropOldestOfLargest()
  }
}

const oldestUnread = ({ pending }: Tenant): ServerResponse | undefined => {
  for (const [res, bytes] of pending) {
    if (bytes > 0) return res
  }
  return undefined
}
