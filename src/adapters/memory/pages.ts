import type { KnownForNewPage, Pages, PublishedPageRow } from '../../core/ports/pages.ts'
import {
  changeNeedsWork,
  firstVersionRow,
  listedPage,
  nameWithNumber,
  newPageNeedsWork,
  newPageRow,
  newVersionRow,
  storedPage,
  storedVersion,
} from '../stores/page-rows.ts'
import { takeSlice } from '../stores/take-slice.ts'
import {
  type KeptGroup,
  type KeptPage,
  type KeptVersion,
  type PageTables,
  UNSCHEDULED,
  visibleGroup,
  withContent,
} from './page-tables.ts'

/** Calls `added` after versions were added or something was scheduled. */
export const memoryPages = (tables: PageTables, added: () => void): Pages => {
  const { groups, pages, versions, outbox } = tables
  const countPages = (group: KeptGroup, more: 1 | -1) =>
    groups.change(group, { pagesCount: group.pagesCount + more, revision: group.revision + 1 })
  const addVersion = (row: ReturnType<typeof newVersionRow>) =>
    versions.add({ ...UNSCHEDULED, ...structuredClone(row), publishedAt: null, failureReason: null })

  const withPublished = (page: KeptPage): PublishedPageRow => {
    const version = versions.byId.at({ ...page, versionId: page.publishedVersionId }) as KeptVersion
    const { versionId, versionNumber, content } = version
    const { status: groupStatus } = groups.byId.at(page) as KeptGroup
    const publishedAt = page.publishedAt as string
    return { ...storedPage(page), publishedAt, groupStatus, versionId, versionNumber, content }
  }

  const isSlugTaken = (page: Pick<KeptPage, 'tenantId' | 'pageGroupId' | 'pageId' | 'slug'>) => {
    const owner = pages.bySlug.at(page)
    return owner !== undefined && owner.pageId !== page.pageId
  }

  return {
    recall: async ({ tenantId, pageGroupId, idempotencyKey = null, slug = null }) => {
      const group = { tenantId, pageGroupId }
      const page = pages.byKey.at({ ...group, idempotencyKey }) ?? null
      return structuredClone({
        group: visibleGroup(tables, group) ?? null,
        page: page as KnownForNewPage['page'],
        slugOwnerId: pages.bySlug.at({ ...group, slug })?.pageId ?? null,
      })
    },
    record: async (page, events) => {
      const group = groups.byId.at(page)
      if (group?.status !== 'active' || (page.groupTitle ?? group.title) !== group.title) return 'overtaken'
      if (pages.byKey.at(page) || isSlugTaken(page)) return 'overtaken'
      outbox.save(events)
      const pageNumber = group.pagesCount + 1
      const named = { ...page, computedName: nameWithNumber(page, pageNumber) }
      pages.add({
        ...newPageRow(named, pageNumber),
        publishedVersionId: null,
        publishedAt: null,
        automaticAfter: null,
        unpublishAt: null,
      })
      addVersion(firstVersionRow(named))
      countPages(group, 1)
      if (newPageNeedsWork(page)) added()
      return 'recorded'
    },
    list: async (lookup) =>
      visibleGroup(tables, lookup)
        ? takeSlice(pages.byId.backFrom(lookup, lookup.beforeId).map(listedPage), lookup.limit)
        : null,
    listPublished: async ({ tenantId, limit, publishedAfter, before }) => {
      const isListed = ({ publishedAt, pageId }: KeptPage) => {
        if (publishedAt === null || publishedAt <= (publishedAfter ?? '')) return false
        if (before === null || publishedAt < before.publishedAt) return true
        return publishedAt === before.publishedAt && pageId < before.pageId
      }
      return takeSlice(pages.published.backFrom({ tenantId }).filter(isListed).map(withPublished), limit)
    },
    find: async (lookup) => {
      const group = visibleGroup(tables, lookup)
      if (!group) return 'page_group_not_found'
      const page = pages.byId.at(lookup)
      if (page === undefined) return 'page_not_found'
      const published = versions.byId.at({ ...page, versionId: page.publishedVersionId })
      const latest = versions.byId.at({ ...page, versionId: page.latestVersionId }) as KeptVersion
      return {
        ...storedPage(page),
        revision: page.revision,
        automaticAfter: page.automaticAfter,
        unpublishAt: page.unpublishAt,
        groupStatus: group.status,
        published: published ? withContent(published) : null,
        latest: storedVersion(latest),
      }
    },
    findSlug: async (lookup) => (visibleGroup(tables, lookup) && pages.bySlug.at(lookup)?.pageId) ?? null,
    change: async (change, events) => {
      const page = pages.byId.at(change)
      const group = visibleGroup(tables, change)
      const version = change.added && newVersionRow(change, change.added)
      if (page?.revision !== change.revision || !group) return 'overtaken'
      if ((version || change.publishes) && group.status !== 'active') return 'overtaken'
      if ((version && versions.byKey.at(version)) || isSlugTaken(change)) return 'overtaken'
      outbox.save(events)
      const { updatedAt, publishedVersionId } = change
      const publishedBefore = publishedVersionId === null ? null : page.publishedAt
      pages.change(page, {
        slug: change.slug,
        customName: change.customName,
        computedName: change.computedName,
        publishedVersionId,
        publishedAt: change.publishes ? updatedAt : publishedBefore,
        automaticAfter: change.automaticAfter,
        unpublishAt: change.unpublishAt,
        latestVersionId: version ? version.versionId : page.latestVersionId,
        updatedAt,
        revision: page.revision + 1,
      })
      if (version) addVersion(version)
      const dropped = versions.byId.at({ ...page, versionId: change.dropped })
      if (dropped) versions.remove(dropped)
      const published = versions.byId.at({ ...page, versionId: publishedVersionId })
      if (change.publishes)
        versions.change(published, { status: 'published', publishedAt: updatedAt, ...UNSCHEDULED })
      const { schedule } = change
      if (schedule)
        versions.change(versions.byId.at({ ...page, ...schedule }), { ...schedule, publish: false })
      if (changeNeedsWork(change)) added()
      return 'recorded'
    },
    remove: async (lookup, events) => {
      const page = pages.byId.at(lookup)
      const group = visibleGroup(tables, lookup)
      if (page?.revision !== lookup.revision || !group) return 'overtaken'
      outbox.save(events)
      for (const version of [...versions.byId.backFrom(lookup)]) versions.remove(version)
      pages.remove(page)
      countPages(group, -1)
      return 'recorded'
    },
  }
}
