/**
 * Slots for calls that wait or take long. When all are taken, the tenant with the most loses its oldest to a tenant
 * that still has fewer with it. Returns how to leave; null if no slot is free. `end` is called for a lost slot.
 */
export const equalShares = (ofTenantMax: number, allMax: number) => {
  const byTenant = new Map<string, Set<() => void>>()
  let all = 0
  const remove = (tenantId: string, end: () => void): void => {
    const slots = byTenant.get(tenantId)
    if (!slots?.delete(end)) return
    all--
    if (slots.size === 0) byTenant.delete(tenantId)
  }
  return (tenantId: string, end: () => void): (() => void) | null => {
    const slots = byTenant.get(tenantId) ?? new Set()
    if (slots.size >= ofTenantMax) return null
    if (all >= allMax) {
      const [most] = [...byTenant].sort(([, a], [, b]) => b.size - a.size)
      const [oldest] = most?.[1] ?? []
      if (!most || !oldest || most[1].size <= slots.size + 1) return null
      remove(most[0], oldest)
      oldest()
    }
    byTenant.set(tenantId, slots.add(end))
    all++
    return () => remove(tenantId, end)
  }
}
