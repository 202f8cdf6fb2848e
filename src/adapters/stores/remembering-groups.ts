import type { PageGroupKey } from '../../core/ports/page-groups.ts'
import type { KnownForNewPage, PagesToCreate } from '../../core/ports/pages.ts'

/** Beyond this all are forgotten. */
const GROUPS_MAX = 10_000

/**
 * Pages whose `recall` assumes that a group which was active still is, with the same title, and that no page has the
 * idempotency key or the slug: then creating a page is one write without a look-up. The write checks all of that; if any of
 * it is wrong, it returns `overtaken`, and the next `recall` asks the store.
 */
export const rememberingGroups = (pages: PagesToCreate): PagesToCreate => {
  const active = new Map<string, KnownForNewPage>()
  return {
    record: (page, events) => pages.record(page, events),
    recall: async (lookup) => {
      const key = keyOf(lookup)
      const assumed = lookup.wasOvertaken ? undefined : active.get(key)
      if (assumed !== undefined) return assumed
      const known = await pages.recall(lookup)
      active.delete(key)
      if (known.group?.status !== 'active') return known
      if (active.size >= GROUPS_MAX) active.clear()
      active.set(key, { group: known.group, page: null, slugOwnerId: null })
      return known
    },
  }
}

const keyOf = ({ tenantId, pageGroupId }: PageGroupKey): string => `${tenantId} ${pageGroupId}`
