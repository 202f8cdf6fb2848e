import { keyOf } from '../../core/keys.ts'
import type { PageGroups, PageGroupsWant, StoredPageGroup } from '../../core/ports/page-groups.ts'
import { takeSlice } from '../rows.ts'
import { sortedLists } from './sorted-lists.ts'

export type GroupKey = Pick<StoredPageGroup, 'tenantId' | 'pageGroupId'>
type KeptGroup = StoredPageGroup & { pagesCount: number }

export const memoryPageGroups = () => {
  const groups = new Map<string, KeptGroup>()
  const groupsOf = sortedLists<KeptGroup>(({ pageGroupId }) => pageGroupId)
  const groupOf = ({ tenantId, pageGroupId }: GroupKey) => groups.get(keyOf(tenantId, pageGroupId))

  const listed = function* ({ tenantId, status, beforeId }: PageGroupsWant) {
    for (const group of groupsOf.backFrom(tenantId, beforeId))
      if (status === null ? group.status !== 'deleted' : group.status === status) yield copied(group)
  }

  const pageGroups: PageGroups = {
    list: async (wants) => wants.map((want) => takeSlice(listed(want), want.limit)),
    find: async (pageGroupId) => {
      for (const group of groups.values()) if (group.pageGroupId === pageGroupId) return copied(group)
      return null
    },
    add: async (group) => {
      const kept = copied(group)
      groups.set(keyOf(group.tenantId, group.pageGroupId), kept)
      groupsOf.add(group.tenantId, kept)
    },
    change: async (group, lastUpdatedAt) => {
      const kept = groupOf(group)
      if (kept?.updatedAt !== lastUpdatedAt) return 'overtaken'
      Object.assign(kept, copied(group), { pagesCount: kept.pagesCount })
      return 'recorded'
    },
  }
  return { pageGroups, groupOf }
}

const copied = (group: StoredPageGroup): StoredPageGroup => ({
  ...group,
  actions: { ...group.actions },
  footerLinks: { ...group.footerLinks },
  scripts: { ...group.scripts },
})
