/** Ends the call that holds a slot. */
type End = () => void

/**
 * Slots for calls that wait or take long. When all are taken, the tenant with the most slots loses its oldest one to a
 * tenant that would still hold fewer. Returns a function that releases the slot; null if no slot is free. `end` is called
 * for a lost slot.
 */
export const equalShares = (ofTenantMax: number, allMax: number) => {
  const byTenant = new Map<string, Set<End>>()
  let taken = 0

  const release = (tenantId: string, end: End): void => {
    const slots = byTenant.get(tenantId)
    if (!slots?.delete(end)) return
    taken--
    if (slots.size === 0) byTenant.delete(tenantId)
  }

  const findLargest = () => {
    let largest: { readonly tenantId: string; readonly slots: ReadonlySet<End> } | undefined
    for (const [tenantId, slots] of byTenant) {
      if (largest === undefined || slots.size > largest.slots.size) largest = { tenantId, slots }
    }
    return largest
  }

  return (tenantId: string, end: End): (() => void) | null => {
    const slots = byTenant.get(tenantId) ?? new Set()
    if (slots.size >= ofTenantMax) return null
    if (taken >= allMax) {
      const largest = findLargest()
      const [oldest] = largest?.slots ?? []
      if (!largest || !oldest || largest.slots.size <= slots.size + 1) return null
      release(largest.tenantId, oldest)
      oldest()
    }
    byTenant.set(tenantId, slots.add(end))
    taken++
    return () => release(tenantId, end)
  }
}
