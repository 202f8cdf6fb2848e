import type { PageGroups } from '../../core/ports/page-groups.ts'
import { takeSlice } from '../stores/take-slice.ts'
import type { KeptGroup, PageTables } from './page-tables.ts'

export const memoryPageGroups = ({ groups, outbox }: PageTables): PageGroups => ({
  list: async ({ tenantId, status, beforeId, limit }) => {
    const isListed = (group: KeptGroup) =>
      status === null ? group.status !== 'deleted' : group.status === status
    const rows = groups.byId.backFrom({ tenantId }, beforeId).filter(isListed)
    return takeSlice(rows.map(storedGroup), limit)
  },
  find: async (lookup) => {
    const group = 'pageGroupId' in lookup ? groups.byId.at(lookup) : groups.byKey.at(lookup)
    return group === undefined ? null : foundGroup(group)
  },
  add: async (group, events) => {
    if (groups.byKey.at(group)) return 'overtaken'
    outbox.save(events)
    groups.add({ ...structuredClone(group), revision: 1 })
    return 'recorded'
  },
  change: async (group, lastUpdatedAt, revision, events) => {
    const before = groups.byId.at(group)
    if (before?.updatedAt !== lastUpdatedAt) return 'overtaken'
    if (revision !== undefined && before.revision !== revision) return 'overtaken'
    outbox.save(events)
    const { pagesCount, idempotencyKey, requestHash } = before
    const kept = { pagesCount, idempotencyKey, requestHash, revision: before.revision + 1 }
    groups.change(before, { ...structuredClone(group), ...kept })
    return 'recorded'
  },
})

const foundGroup = ({ idempotencyKey, ...group }: KeptGroup) => structuredClone(group)
const storedGroup = ({ revision, idempotencyKey, requestHash, ...group }: KeptGroup) => structuredClone(group)
