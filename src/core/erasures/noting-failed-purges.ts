import type { Erasures } from '../ports/erasures.ts'

/**
 * The same erasures, which note whether the last purge failed. It is retried minutes later, and until then erasing does not
 * work, even if nothing else fails.
 */
export const notingFailedPurges = (erasures: Erasures) => {
  let isFailing = false
  const purgeDeleted: Erasures['purgeDeleted'] = async (now) => {
    const isDone = await erasures.purgeDeleted(now).catch((error) => {
      isFailing = true
      throw error
    })
    if (isDone) isFailing = false
    return isDone
  }
  return { erasures: { ...erasures, purgeDeleted }, isFailing: () => isFailing }
}
