import type { KnownPage, Pages } from '../../core/ports/pages.ts'

/** Beyond this all are forgotten. */
const GROUPS_MAX = 10_000

/**
 * Pages whose `recall` assumes that a group that got a page is still active: then creating a page is one write without a
 * look-up. The write checks the group, and returns `overtaken` if it is not; then that is forgotten. A page with an
 * idempotency key, or one that is named by its group, is looked up.
 */
export const assumingActive = (pages: Pages): Pages => {
  const active = new Map<string, KnownPage>()
  return {
    ...pages,
    // A spread copy of a class instance lacks its methods, so this one is passed on.
    findSlug: (lookup) => pages.findSlug(lookup),

    recall: (lookup) => {
      const { idempotencyKey, isNamedByGroup } = lookup
      const assumed = idempotencyKey === undefined && !isNamedByGroup ? active.get(keyOf(lookup)) : undefined
      return assumed === undefined ? pages.recall(lookup) : Promise.resolve(assumed)
    },

    record: async (page, events) => {
      const recorded = await pages.record(page, events)
      const key = keyOf(page)
      if (recorded === 'overtaken') active.delete(key)
      else if (!active.has(key)) {
        if (active.size >= GROUPS_MAX) active.clear()
        const { tenantId, pageGroupId } = page
        active.set(key, { group: { tenantId, pageGroupId, status: 'active', title: '' }, page: null })
      }
      return recorded
    },
  }
}

const keyOf = ({ tenantId, pageGroupId }: { readonly tenantId: string; readonly pageGroupId: string }) =>
  `${tenantId} ${pageGroupId}`
