import { keyOf } from '../../core/keys.ts'
import type { PageGroups, PageGroupsWant, StoredPageGroup } from '../../core/ports/page-groups.ts'
import type { FoundPage, NewPageRow, Pages, StoredVersion } from '../../core/ports/pages.ts'
import type { Settlement, Versions } from '../../core/ports/versions.ts'
import { settledRow, storedPage, storedVersion, takeSlice } from '../rows.ts'
import { claimFrom } from './claim.ts'
import { sortedLists } from './sorted-lists.ts'

type GroupKey = Pick<StoredPageGroup, 'tenantId' | 'pageGroupId'>
type KeptGroup = StoredPageGroup & { pagesCount: number }
type KeptVersion = StoredVersion & { attempts: number; claimableAt: string }
/** No operation adds a second version to a page. */
type KeptPage = NewPageRow & { readonly version: KeptVersion }

/** Page groups, pages and versions in maps. Calls `added` after pages were recorded. */
export const memoryPages = (added: () => void) => {
  const groups = new Map<string, KeptGroup>()
  const groupsOf = sortedLists<KeptGroup>(({ pageGroupId }) => pageGroupId)
  const pages = new Map<string, KeptPage>()
  const pagesOf = sortedLists<KeptPage>(({ pageId }) => pageId)
  const byIdempotencyKey = new Map<string, KeptPage>()
  /** By the id of the version. */
  const processing = new Map<string, KeptPage>()

  const groupOf = ({ tenantId, pageGroupId }: GroupKey) => groups.get(keyOf(tenantId, pageGroupId))
  const isMissing = (want: GroupKey): boolean => (groupOf(want)?.status ?? 'deleted') === 'deleted'
  const pageOf = ({ tenantId, pageGroupId, pageId }: GroupKey & { pageId: string }) =>
    pages.get(keyOf(tenantId, pageGroupId, pageId))
  const earlierPage = (want: GroupKey & { idempotencyKey: string | null }) =>
    byIdempotencyKey.get(keyOf(want.tenantId, want.pageGroupId, want.idempotencyKey ?? ''))
  const storedPagesOf = function* ({ tenantId, pageGroupId }: GroupKey, beforeId: string | null) {
    for (const page of pagesOf.backFrom(keyOf(tenantId, pageGroupId), beforeId)) yield storedPage(page)
  }

  const listed = function* ({ tenantId, status, beforeId }: PageGroupsWant) {
    for (const group of groupsOf.backFrom(tenantId, beforeId))
      if (status === null ? group.status !== 'deleted' : group.status === status) yield structuredClone(group)
  }

  const pageGroups: PageGroups = {
    list: async (wants) => wants.map((want) => takeSlice(listed(want), want.limit)),
    find: async (pageGroupId) =>
      structuredClone([...groups.values()].find((group) => group.pageGroupId === pageGroupId) ?? null),
    add: async (group) => {
      const kept = structuredClone(group)
      groups.set(keyOf(group.tenantId, group.pageGroupId), kept)
      groupsOf.add(group.tenantId, kept)
    },
    change: async (group, lastUpdatedAt) => {
      const kept = groupOf(group)
      if (kept?.updatedAt !== lastUpdatedAt) return 'overtaken'
      Object.assign(kept, structuredClone(group), { pagesCount: kept.pagesCount })
      return 'recorded'
    },
  }

  const addPage = (row: NewPageRow) => {
    const { tenantId, pageGroupId, pageId, idempotencyKey, versionId, versionNumber, createdAt } = row
    const version = { versionId, versionNumber, publishedAt: null, failureReason: null }
    const page: KeptPage = {
      ...row,
      version: { ...version, status: 'processing', attempts: 0, claimableAt: createdAt },
    }
    pages.set(keyOf(tenantId, pageGroupId, pageId), page)
    pagesOf.add(keyOf(tenantId, pageGroupId), page)
    if (idempotencyKey !== null) byIdempotencyKey.set(keyOf(tenantId, pageGroupId, idempotencyKey), page)
    processing.set(versionId, page)
    const group = groupOf(row)
    if (group !== undefined) group.pagesCount++
  }

  const pagesPort: Pages = {
    recall: async (wants) => ({
      groups: wants.groups.flatMap((want) => {
        const group = groupOf(want)
        return group === undefined || isMissing(want) ? [] : [{ ...group }]
      }),
      pages: wants.keys.flatMap((want) => {
        const page = earlierPage(want)
        if (page === undefined || page.requestHash === null) return []
        return [{ ...want, pageId: page.pageId, createdAt: page.createdAt, requestHash: page.requestHash }]
      }),
    }),
    record: async (rows) => {
      const isOvertaken = (row: NewPageRow) =>
        groupOf(row)?.status !== 'active' || earlierPage(row) !== undefined
      if (rows.some(isOvertaken)) return 'overtaken'
      rows.forEach(addPage)
      added()
      return 'recorded'
    },
    list: async (wants) =>
      wants.map((want) =>
        isMissing(want) ? null : takeSlice(storedPagesOf(want, want.beforeId), want.limit),
      ),
    find: async (wants) =>
      wants.map((want): FoundPage => {
        if (isMissing(want)) return 'page_group_not_found'
        const page = pageOf(want)
        if (page === undefined) return 'page_not_found'
        const { supplementaryContext, version } = page
        const published = version.status === 'published' ? storedVersion(version) : null
        return { ...storedPage(page), supplementaryContext, published, latest: storedVersion(version) }
      }),
  }

  /** Whether the attempt was still the latest one. */
  const settle = (tenantId: string, done: Settlement): boolean => {
    const page = processing.get(done.versionId)
    if (page?.tenantId !== tenantId || page.version.attempts !== done.attempt) return false
    const { status, publishedAt, failureReason, claimableAt, ...row } = settledRow(tenantId, done)
    const { version } = page
    Object.assign(version, { status, publishedAt, failureReason })
    version.claimableAt = claimableAt ?? version.claimableAt
    version.attempts -= row.uncounted
    if (status !== 'processing') processing.delete(done.versionId)
    if (publishedAt !== null)
      Object.assign(page, { updatedAt: publishedAt, computedName: row.computedName ?? page.computedName })
    return true
  }

  const versions: Versions = {
    claim: async (want) =>
      claimFrom(processing.values(), ({ version }) => version, want).map(
        ({ tenantId, pageGroupId, pageId, versionId, version: { attempts } }) => {
          return { tenantId, pageGroupId, pageId, versionId, attempt: attempts }
        },
      ),
    context: async (want) => {
      const [page, group] = [pageOf(want), groupOf(want)]
      if (page === undefined || group === undefined) return null
      const { supplementaryContext } = page
      return { groupTitle: group.title, pageContext: group.pageContext, supplementaryContext }
    },
    settle: async (tenantId, settlements) =>
      settlements.filter((done) => settle(tenantId, done)).map(({ versionId }) => versionId),
  }

  /** For the metrics: see postgres/versions.ts. */
  const backlog = async (countMax: number) => {
    const times = [...processing.values()].slice(0, countMax).map(({ createdAt }) => createdAt)
    return { count: times.length, oldest: times.toSorted()[0] ?? null }
  }
  return { pageGroups, pages: pagesPort, versions, backlog }
}
