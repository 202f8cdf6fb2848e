import type { Erasures } from '../ports/erasures.ts'

/**
 * The same erasures, which note whether the last rewrite failed. It is retried minutes later, and until then erasing does not
 * work, even if nothing else fails.
 */
export const notingFailedRewrites = (erasures: Erasures) => {
  let isFailing = false
  const rewrite: Erasures['rewrite'] = async (now) => {
    const isRewritten = await erasures.rewrite(now).catch((error) => {
      isFailing = true
      throw error
    })
    if (isRewritten) isFailing = false
    return isRewritten
  }
  return { erasures: { ...erasures, rewrite }, isFailing: () => isFailing }
}
