import { keyOf } from '../../core/keys.ts'
import type { PageGroups, PageGroupsWant, StoredPageGroup } from '../../core/ports/page-groups.ts'
import { takeSlice } from '../rows.ts'
import { idsIn, type SortedIds } from './sorted-ids.ts'

type GroupKey = { readonly tenantId: string; readonly pageGroupId: string }

export const memoryPageGroups = () => {
  const groups = new Map<string, StoredPageGroup>()
  const idsOf = new Map<string, SortedIds>()
  const groupOf = ({ tenantId, pageGroupId }: GroupKey) => groups.get(keyOf(tenantId, pageGroupId))
  const save = (group: StoredPageGroup) => groups.set(keyOf(group.tenantId, group.pageGroupId), copied(group))

  const listed = function* ({ tenantId, status, beforeId }: PageGroupsWant) {
    for (const pageGroupId of idsOf.get(tenantId)?.backFrom(beforeId) ?? []) {
      const group = groupOf({ tenantId, pageGroupId }) as StoredPageGroup
      if (status === null ? group.status !== 'deleted' : group.status === status) yield copied(group)
    }
  }

  const pageGroups: PageGroups = {
    list: async (wants) => wants.map((want) => takeSlice(listed(want), want.limit)),
    find: async (pageGroupId) => {
      for (const group of groups.values()) if (group.pageGroupId === pageGroupId) return copied(group)
      return null
    },
    add: async (group) => {
      save(group)
      idsIn(idsOf, group.tenantId).add(group.pageGroupId)
    },
    change: async (group, lastUpdatedAt) => {
      const before = groupOf(group)
      if (before?.updatedAt !== lastUpdatedAt) return 'overtaken'
      save({ ...group, pagesCount: before.pagesCount })
      return 'recorded'
    },
  }
  return {
    pageGroups,
    groupOf,
    countPage: (key: GroupKey): void => {
      const group = groupOf(key)
      if (group !== undefined) save({ ...group, pagesCount: group.pagesCount + 1 })
    },
  }
}

const copied = (group: StoredPageGroup): StoredPageGroup => ({
  ...group,
  actions: { ...group.actions },
  footerLinks: { ...group.footerLinks },
  scripts: { ...group.scripts },
})
