/**
 * Slots for calls that wait or take long. When all are taken, the tenant with the most loses its oldest to a tenant
 * that still has fewer with it. Returns how to leave; null if no slot is free. `end` is called for a lost slot.
 */
export const equalShares = (ofTenantMax: number, allMax: number) => {
  const held = new Map<string, Set<() => void>>()
  let all = 0
  const remove = (tenantId: string, end: () => void): void => {
    const its = held.get(tenantId)
    if (!its?.delete(end)) return
    all--
    if (its.size === 0) held.delete(tenantId)
  }
  return (tenantId: string, end: () => void): (() => void) | null => {
    const own = held.get(tenantId) ?? new Set()
    if (own.size >= ofTenantMax) return null
    if (all >= allMax) {
      const [most] = [...held].sort(([, a], [, b]) => b.size - a.size)
      const [oldest] = most?.[1] ?? []
      if (!most || !oldest || most[1].size <= own.size + 1) return null
      remove(most[0], oldest)
      oldest()
    }
    held.set(tenantId, own.add(end))
    all++
    return () => remove(tenantId, end)
  }
}
