/**
 * A bounded amount that callers hold parts of. One may hold as much as is left for all the others together: alone it
 * gets half, and whoever comes next still finds something, however much the first one asks for.
 */
export const createShares = (amountMax: number) => {
  const held = new Map<string, number>()
  let left = amountMax
  return {
    /** Whether the holder got it. */
    take: (holder: string, amount: number): boolean => {
      const its = (held.get(holder) ?? 0) + amount
      if (its > left) return false
      held.set(holder, its)
      left -= amount
      return true
    },
    giveBack: (holder: string, amount: number): void => {
      const its = (held.get(holder) ?? 0) - amount
      if (its > 0) held.set(holder, its)
      else held.delete(holder)
      left += amount
    },
  }
}
