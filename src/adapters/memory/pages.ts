import type { PageGroups, PageGroupsWant, StoredPageGroup } from '../../core/ports/page-groups.ts'
import type { FoundPage, NewPageRow, Pages, PagesWant, StoredVersion } from '../../core/ports/pages.ts'
import type { Settlement, Versions } from '../../core/ports/versions.ts'
import { settledRow, storedPage, storedVersion, takeSlice } from '../rows.ts'
import { claimFrom } from './claim.ts'
import { indexBy, tableOf } from './table.ts'

/** No operation adds a second version to a page. */
type KeptPage = NewPageRow & StoredVersion & { readonly attempts: number; readonly claimableAt: string }

/** Calls `added` after pages were recorded. */
export const memoryPages = (added: () => void) => {
  const groups = tableOf({ byId: indexBy<StoredPageGroup>(['tenantId'], ['pageGroupId']) })
  const pages = tableOf({
    byId: indexBy<KeptPage>(['tenantId', 'pageGroupId'], ['pageId']),
    byKey: indexBy<KeptPage>(['tenantId', 'pageGroupId', 'idempotencyKey']),
    byStatus: indexBy<KeptPage>(['status'], ['versionId']),
  })
  const visibleGroup = (want: Pick<PagesWant, 'tenantId' | 'pageGroupId'>) => {
    const group = groups.byId.at(want)
    return group?.status === 'deleted' ? undefined : group
  }

  const listed = function* ({ tenantId, status, beforeId }: PageGroupsWant) {
    for (const group of groups.byId.backFrom({ tenantId }, beforeId))
      if (status === null ? group.status !== 'deleted' : group.status === status) yield structuredClone(group)
  }
  const pageGroups: PageGroups = {
    list: async (wants) => wants.map((want) => takeSlice(listed(want), want.limit)),
    find: async (id) =>
      structuredClone(groups.byId.all().find(({ pageGroupId }) => pageGroupId === id) ?? null),
    add: async (group) => groups.add(structuredClone(group)),
    change: async (group, lastUpdatedAt) => {
      const before = groups.byId.at(group)
      if (before?.updatedAt !== lastUpdatedAt) return 'overtaken'
      groups.change(before, { ...structuredClone(group), pagesCount: before.pagesCount })
      return 'recorded'
    },
  }

  const addPage = (row: NewPageRow) => {
    const version = { status: 'processing', publishedAt: null, failureReason: null } as const
    pages.add({ ...row, ...version, attempts: 0, claimableAt: row.createdAt })
    const group = groups.byId.at(row)
    groups.change(group, { pagesCount: (group?.pagesCount ?? 0) + 1 })
  }
  const storedPagesOf = function* ({ beforeId, ...want }: PagesWant) {
    for (const page of pages.byId.backFrom(want, beforeId)) yield storedPage(page)
  }
  const pagesPort: Pages = {
    recall: async (wants) => ({
      groups: wants.groups.map(visibleGroup).flatMap((group) => (group === undefined ? [] : { ...group })),
      pages: wants.keys.flatMap((want) => {
        const page = pages.byKey.at(want)
        if (page === undefined || page.requestHash === null) return []
        return [{ ...want, pageId: page.pageId, createdAt: page.createdAt, requestHash: page.requestHash }]
      }),
    }),
    record: async (rows) => {
      const isOvertaken = (row: NewPageRow) =>
        groups.byId.at(row)?.status !== 'active' || pages.byKey.at(row) !== undefined
      if (rows.some(isOvertaken)) return 'overtaken'
      rows.forEach(addPage)
      added()
      return 'recorded'
    },
    list: async (wants) =>
      wants.map((want) => (visibleGroup(want) ? takeSlice(storedPagesOf(want), want.limit) : null)),
    find: async (wants) =>
      wants.map((want): FoundPage => {
        if (!visibleGroup(want)) return 'page_group_not_found'
        const page = pages.byId.at(want)
        if (page === undefined) return 'page_not_found'
        const { supplementaryContext } = page
        const latest = storedVersion(page)
        const published = page.status === 'published' ? latest : null
        return { ...storedPage(page), supplementaryContext, published, latest }
      }),
  }

  /** Whether the attempt was still the latest one. */
  const settle = (tenantId: string, done: Settlement): boolean => {
    const page = pages.byStatus.at({ status: 'processing', versionId: done.versionId })
    if (page?.tenantId !== tenantId || page.attempts !== done.attempt) return false
    const { status, publishedAt, failureReason, ...row } = settledRow(tenantId, done)
    pages.change(page, {
      status,
      publishedAt,
      failureReason,
      claimableAt: row.claimableAt ?? page.claimableAt,
      attempts: page.attempts - row.uncounted,
      updatedAt: publishedAt ?? page.updatedAt,
      computedName: row.computedName ?? page.computedName,
    })
    return true
  }

  const versions: Versions = {
    claim: async (want) =>
      claimFrom(pages.byStatus.after({ status: 'processing' }), pages.change, want).map(
        ({ tenantId, pageGroupId, pageId, versionId, attempts }) => {
          return { tenantId, pageGroupId, pageId, versionId, attempt: attempts }
        },
      ),
    context: async (want) => {
      const [page, group] = [pages.byId.at(want), groups.byId.at(want)]
      if (page === undefined || group === undefined) return null
      const { supplementaryContext } = page
      return { groupTitle: group.title, pageContext: group.pageContext, supplementaryContext }
    },
    settle: async (tenantId, settlements) =>
      settlements.filter((done) => settle(tenantId, done)).map(({ versionId }) => versionId),
  }

  /** For the metrics: see postgres/versions.ts. */
  const backlog = async (countMax: number) => {
    const waiting = [...pages.byStatus.after({ status: 'processing' })].slice(0, countMax)
    const times = waiting.map(({ createdAt }) => createdAt)
    return { count: times.length, oldest: times.toSorted()[0] ?? null }
  }
  return { pageGroups, pages: pagesPort, versions, backlog }
}
