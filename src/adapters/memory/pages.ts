import { keyOf } from '../../core/keys.ts'
import type {
  FoundPage,
  NewPageRow,
  Pages,
  PagesWant,
  StoredPage,
  StoredVersion,
} from '../../core/ports/pages.ts'
import type { ClaimedVersion, Settlement, Versions } from '../../core/ports/versions.ts'
import { takeSlice } from '../rows.ts'
import { memoryPageGroups } from './page-groups.ts'
import { idsIn, type SortedIds } from './sorted-ids.ts'

type KeptPage = NewPageRow & { readonly publishedVersionId: string | null }
type KeptVersion = StoredVersion & {
  readonly attempts: number
  readonly claimableAt: string
  readonly pageKey: string
}

/** Page groups, pages and versions in maps. Calls `added` after pages were recorded. */
export const memoryPages = (added: () => void) => {
  const { pageGroups, groupOf, countPage } = memoryPageGroups()
  const pages = new Map<string, KeptPage>()
  const pageIdsOf = new Map<string, SortedIds>()
  const pageKeyByIdempotencyKey = new Map<string, string>()
  const versions = new Map<string, KeptVersion>()
  const processing = new Set<string>()

  const groupKey = ({ tenantId, pageGroupId }: { tenantId: string; pageGroupId: string }) =>
    keyOf(tenantId, pageGroupId)
  const pageKey = ({
    tenantId,
    pageGroupId,
    pageId,
  }: Pick<StoredPage, 'tenantId' | 'pageGroupId' | 'pageId'>) => keyOf(tenantId, pageGroupId, pageId)
  const liveGroup = (want: { tenantId: string; pageGroupId: string }) => {
    const group = groupOf(want)
    return group?.status === 'deleted' ? undefined : group
  }

  const idempotencyKeyOf = ({ tenantId, pageGroupId, idempotencyKey }: NewPageRow) =>
    idempotencyKey === null ? null : keyOf(tenantId, pageGroupId, idempotencyKey)

  const storedPagesOf = function* (want: PagesWant) {
    for (const pageId of pageIdsOf.get(groupKey(want))?.backFrom(want.beforeId) ?? [])
      yield storedPage(pages.get(pageKey({ ...want, pageId })) as KeptPage)
  }

  const addPage = (row: NewPageRow) => {
    const key = pageKey(row)
    pages.set(key, { ...row, publishedVersionId: null })
    idsIn(pageIdsOf, groupKey(row)).add(row.pageId)
    const idempotencyKey = idempotencyKeyOf(row)
    if (idempotencyKey !== null) pageKeyByIdempotencyKey.set(idempotencyKey, key)
    versions.set(row.versionId, {
      versionId: row.versionId,
      versionNumber: row.versionNumber,
      status: 'processing',
      publishedAt: null,
      failureReason: null,
      attempts: 0,
      claimableAt: row.createdAt,
      pageKey: key,
    })
    processing.add(row.versionId)
    countPage(row)
  }

  const pagesPort: Pages = {
    recall: async (wants) => ({
      groups: wants.groups.flatMap((want) => {
        const group = liveGroup(want)
        return group === undefined ? [] : [{ ...group }]
      }),
      pages: wants.keys.flatMap(({ tenantId, pageGroupId, idempotencyKey }) => {
        const page = pages.get(
          pageKeyByIdempotencyKey.get(keyOf(tenantId, pageGroupId, idempotencyKey)) ?? '',
        )
        return page === undefined || page.requestHash === null
          ? []
          : [{ ...page, idempotencyKey, requestHash: page.requestHash }]
      }),
    }),
    record: async (rows) => {
      const isOvertaken = (row: NewPageRow) =>
        groupOf(row)?.status !== 'active' || pageKeyByIdempotencyKey.has(idempotencyKeyOf(row) ?? '')
      if (rows.some(isOvertaken)) return 'overtaken'
      rows.forEach(addPage)
      added()
      return 'recorded'
    },
    list: async (wants) =>
      wants.map((want) =>
        liveGroup(want) === undefined ? null : takeSlice(storedPagesOf(want), want.limit),
      ),
    find: async (wants) =>
      wants.map((want): FoundPage => {
        if (liveGroup(want) === undefined) return 'page_group_not_found'
        const page = pages.get(pageKey(want))
        if (page === undefined) return 'page_not_found'
        const { publishedVersionId, supplementaryContext } = page
        return {
          ...storedPage(page),
          supplementaryContext,
          published: publishedVersionId === null ? null : storedVersion(versions.get(publishedVersionId)),
          latest: storedVersion(versions.get(page.versionId)),
        }
      }),
  }

  /** Whether the attempt was still the latest one. */
  const settle = (tenantId: string, done: Settlement): boolean => {
    const version = versions.get(done.versionId)
    const page = version && pages.get(version.pageKey)
    if (version?.status !== 'processing' || version.attempts !== done.attempt || page?.tenantId !== tenantId)
      return false
    if (done.status === 'processing') {
      const attempts = version.attempts - (done.counts ? 0 : 1)
      versions.set(done.versionId, { ...version, claimableAt: done.claimableAt, attempts })
      return true
    }
    processing.delete(done.versionId)
    if (done.status === 'failed') {
      versions.set(done.versionId, { ...version, status: 'failed', failureReason: done.reason })
      return true
    }
    versions.set(done.versionId, { ...version, status: 'published', publishedAt: done.at })
    pages.set(version.pageKey, {
      ...page,
      publishedVersionId: done.versionId,
      updatedAt: done.at,
      computedName: done.computedName ?? page.computedName,
    })
    return true
  }

  const versionsPort: Versions = {
    claim: async ({ now, until, horizon, afterTenantId, max }) =>
      [...processing]
        .map((versionId) => versions.get(versionId) as KeptVersion)
        .map((version) => ({ version, page: pages.get(version.pageKey) as KeptPage }))
        .filter(
          ({ version: { claimableAt }, page: { tenantId } }) =>
            tenantId > afterTenantId && (claimableAt <= now || claimableAt > horizon),
        )
        .sort(
          (a, b) =>
            compare(a.page.tenantId, b.page.tenantId) ||
            compare(a.version.claimableAt, b.version.claimableAt),
        )
        .slice(0, max)
        .map(({ version, page: { tenantId, pageGroupId, pageId } }): ClaimedVersion => {
          const attempt = version.attempts + 1
          versions.set(version.versionId, { ...version, attempts: attempt, claimableAt: until })
          return { tenantId, pageGroupId, pageId, versionId: version.versionId, attempt }
        }),
    context: async (want) => {
      const page = pages.get(pageKey(want))
      const group = groupOf(want)
      if (page === undefined || group === undefined) return null
      const { supplementaryContext } = page
      return { groupTitle: group.title, pageContext: group.pageContext, supplementaryContext }
    },
    settle: async (tenantId, settlements) =>
      settlements.filter((done) => settle(tenantId, done)).map(({ versionId }) => versionId),
  }

  /** For the metrics: see postgres/backlog.ts. */
  const backlog = async (countMax: number) => {
    let [count, oldest]: [number, string | null] = [0, null]
    for (const versionId of processing) {
      if (count === countMax) break
      const { createdAt } = pages.get(versions.get(versionId)?.pageKey ?? '') as KeptPage
      if (oldest === null || createdAt < oldest) oldest = createdAt
      count++
    }
    return { count, oldest }
  }
  return { pageGroups, pages: pagesPort, versions: versionsPort, backlog }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const storedPage = (page: KeptPage): StoredPage => ({
  tenantId: page.tenantId,
  pageGroupId: page.pageGroupId,
  pageId: page.pageId,
  customName: page.customName,
  computedName: page.computedName,
  createdAt: page.createdAt,
  updatedAt: page.updatedAt,
})

const storedVersion = (version: KeptVersion | undefined): StoredVersion => {
  if (version === undefined) throw new Error('a page without its version')
  const { versionId, versionNumber, status, publishedAt, failureReason } = version
  return { versionId, versionNumber, status, publishedAt, failureReason }
}
