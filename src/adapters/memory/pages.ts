import type { PageGroupKey } from '../../core/ports/page-groups.ts'
import type { KnownPage, Pages, PagesQuery, PublishedPageRow } from '../../core/ports/pages.ts'
import type { Settlement, Versions } from '../../core/ports/versions.ts'
import {
  changeNeedsWork,
  firstVersionRow,
  listedPage,
  nameWithNumber,
  newPageNeedsWork,
  newPageRow,
  newVersionRow,
  type ShownVersion,
  settledRow,
  storedPage,
  storedVersion,
} from '../stores/page-rows.ts'
import { eventsOfSaved } from '../stores/rows.ts'
import { takeSlice } from '../stores/take-slice.ts'
import { claimFrom, compare } from './claim.ts'
import { memoryDeletions } from './deletions.ts'
import type { Outbox } from './events.ts'
import { groupTable, type KeptGroup, memoryPageGroups } from './page-groups.ts'
import { memorySchedules, UNSCHEDULED } from './schedules.ts'
import { type IsActive, indexBy, tableOf } from './table.ts'

type KeptPage = ReturnType<typeof newPageRow> &
  Record<'publishedVersionId' | 'publishedAt' | 'automaticAfter' | 'unpublishAt', string | null>
type KeptVersion = Omit<ReturnType<typeof newVersionRow>, 'status'> & ShownVersion

/** Calls `added` after versions were added or something was scheduled, `deleted` after a page group was deleted. */
export const memoryPages = (outbox: Outbox, added: () => void, deleted: () => void, isActive: IsActive) => {
  const groups = groupTable(outbox.own)
  const pages = outbox.own(
    'pages',
    tableOf({
      byId: indexBy<KeptPage>(['tenantId', 'pageGroupId'], ['pageId']),
      byTenant: indexBy<KeptPage>(['tenantId'], ['pageId']),
      byKey: indexBy<KeptPage>(['tenantId', 'pageGroupId', 'idempotencyKey']),
      bySlug: indexBy<KeptPage>(['tenantId', 'pageGroupId', 'slug']),
      published: indexBy<KeptPage>(['tenantId'], ['publishedAt', 'pageId']),
      scheduled: indexBy<KeptPage>(['tenantId'], ['unpublishAt', 'pageId']),
    }),
  )
  const versions = outbox.own(
    'page_versions',
    tableOf({
      byId: indexBy<KeptVersion>(['tenantId', 'pageGroupId', 'pageId'], ['versionId']),
      byKey: indexBy<KeptVersion>(['tenantId', 'pageId', 'idempotencyKey']),
      byStatus: indexBy<KeptVersion>(['status'], ['versionId']),
      scheduled: indexBy<KeptVersion>(['tenantId'], ['publishAt', 'versionId']),
    }),
  )
  const visibleGroup = (lookup: PageGroupKey) => {
    const group = groups.byId.at(lookup)
    return group?.status === 'deleted' ? undefined : group
  }
  const sliceOf = <Row extends object>(lookup: PagesQuery, rows: Iterable<Row>) =>
    visibleGroup(lookup) ? takeSlice(rows, lookup.limit) : null
  const countPages = (group: KeptGroup, more: 1 | -1) =>
    groups.change(group, { pagesCount: group.pagesCount + more, revision: group.revision + 1 })
  const addVersion = (row: ReturnType<typeof newVersionRow>) =>
    versions.add({ ...UNSCHEDULED, ...structuredClone(row), publishedAt: null, failureReason: null })
  /** Versions that wait for publication, of tenants that are not suspended. */
  const waiting = () => versions.byStatus.after({ status: 'processing' }).filter(isActive)
  const withContent = (version: KeptVersion) => ({ ...storedVersion(version), content: version.content })

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

  const pagesPort: Pages = {
    recall: async ({ tenantId, pageGroupId, idempotencyKey = null, slug = null }) => {
      const group = { tenantId, pageGroupId }
      const page = pages.byKey.at({ ...group, idempotencyKey }) ?? null
      return structuredClone({
        group: visibleGroup(group) ?? null,
        page: page as KnownPage['page'],
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
    list: async (lookup) => sliceOf(lookup, pages.byId.backFrom(lookup, lookup.beforeId).map(listedPage)),
    listPublished: async ({ tenantId, limit, publishedAfter, before }) => {
      const isListed = ({ publishedAt, pageId }: KeptPage) => {
        if (publishedAt === null || publishedAt <= (publishedAfter ?? '')) return false
        if (before === null || publishedAt < before.publishedAt) return true
        return publishedAt === before.publishedAt && pageId < before.pageId
      }
      return takeSlice(pages.published.backFrom({ tenantId }).filter(isListed).map(withPublished), limit)
    },
    find: async (lookup) => {
      const group = visibleGroup(lookup)
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
    findSlug: async (lookup) => (visibleGroup(lookup) && pages.bySlug.at(lookup)?.pageId) ?? null,
    change: async (change, events) => {
      const page = pages.byId.at(change)
      const group = visibleGroup(change)
      const version = change.added && newVersionRow(change, change.added)
      if (page?.revision !== change.revision || !group) return 'overtaken'
      if ((version || change.publishes) && group.status !== 'active') return 'overtaken'
      if ((version && versions.byKey.at(version)) || isSlugTaken(change)) return 'overtaken'
      outbox.save(events)
      const { slug, customName, computedName, updatedAt } = change
      const { publishedVersionId, automaticAfter, unpublishAt } = change
      const publishedBefore = publishedVersionId === null ? null : page.publishedAt
      const publishedAt = change.publishes ? updatedAt : publishedBefore
      const latestVersionId = version ? version.versionId : page.latestVersionId
      const pointers = { publishedVersionId, publishedAt, automaticAfter, unpublishAt, latestVersionId }
      pages.change(page, {
        slug,
        customName,
        computedName,
        ...pointers,
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
      const group = visibleGroup(lookup)
      if (page?.revision !== lookup.revision || !group) return 'overtaken'
      outbox.save(events)
      for (const version of [...versions.byId.backFrom(lookup)]) versions.remove(version)
      pages.remove(page)
      countPages(group, -1)
      return 'recorded'
    },
  }
  /** Returns whether the settlement was saved. */
  const settle = (tenantId: string, settlement: Settlement): boolean => {
    const version = versions.byStatus.at({ status: 'processing', versionId: settlement.versionId })
    if (version?.tenantId !== tenantId || version.attempts !== settlement.attempt) return false
    const page = pages.byId.at(version) as KeptPage
    if (settlement.status === 'published' && !visibleGroup(page)) return false
    const { status, publishedAt, failureReason, finishedAt, ...row } = settledRow(tenantId, settlement)
    const { publishedVersionId: before, automaticAfter } = page
    if (publishedAt && [before, automaticAfter].some((id) => id && id >= version.versionId)) return false
    if (publishedAt && page.unpublishAt && page.unpublishAt <= publishedAt) return false
    const computedName = row.computedName ?? version.computedName
    versions.change(version, {
      status,
      publishedAt,
      failureReason,
      computedName,
      claimableAt: row.claimableAt ?? version.claimableAt,
      attempts: version.attempts - row.uncounted,
    })
    if (status === 'processing') return true
    const publishedVersionId = publishedAt ? version.versionId : page.publishedVersionId
    const isNamedByIt = version.versionId === (publishedVersionId ?? page.latestVersionId)
    pages.change(page, {
      revision: page.revision + 1,
      updatedAt: finishedAt ?? page.updatedAt,
      publishedVersionId,
      publishedAt: publishedAt ?? page.publishedAt,
      computedName: isNamedByIt ? computedName : page.computedName,
    })
    return true
  }

  const versionsPort: Versions = {
    list: async (lookup) =>
      sliceOf(lookup, versions.byId.backFrom(lookup, lookup.beforeId).map(storedVersion)) ?? [],
    find: async (lookup) => {
      const version = visibleGroup(lookup) && versions.byId.at(lookup)
      return version ? withContent(version) : null
    },
    findByKey: async (lookup) => (visibleGroup(lookup) && structuredClone(versions.byKey.at(lookup))) ?? null,
    tally: async (lookup) => {
      const all = visibleGroup(lookup) ? [...versions.byId.backFrom(lookup)] : []
      const publishedId = pages.byId.at(lookup)?.publishedVersionId
      const spare = all.filter(
        ({ versionId, status, publishAt }) =>
          status !== 'processing' && publishAt === null && versionId !== publishedId,
      )
      return { count: all.length, oldestSpare: spare.at(-1)?.versionId ?? null }
    },
    claim: async (lookup) =>
      claimFrom(waiting(), versions.change, lookup).map(
        ({ tenantId, pageGroupId, pageId, versionId, attempts, publish, publishAt }) => {
          return { tenantId, pageGroupId, pageId, versionId, attempt: attempts, publish, publishAt }
        },
      ),
    context: async (lookup) => {
      const version = versions.byId.at(lookup)
      const group = groups.byId.at(lookup)
      const page = pages.byId.at(lookup)
      if (version === undefined || group === undefined || page === undefined) return null
      const { title: groupTitle, pageContext } = group
      const { supplementaryContext } = version
      return { groupTitle, pageNumber: page.pageNumber, pageContext, supplementaryContext }
    },
    // Newest first: if a page has several, only the newest is published.
    settle: async (tenantId, settlements, events) => {
      const saved: string[] = []
      for (const settlement of settlements.toSorted((a, b) => compare(b.versionId, a.versionId))) {
        if (settle(tenantId, settlement)) saved.push(settlement.versionId)
      }
      outbox.save(eventsOfSaved(saved, events))
      return saved
    },
    backlog: async (countMax) => {
      const counted = waiting().slice(0, countMax)
      return {
        count: counted.length,
        oldest: counted.map(({ createdAt }) => createdAt).toSorted()[0] ?? null,
      }
    },
  }
  const schedules = memorySchedules({
    versions: versions.scheduled.all,
    pages: pages.scheduled.all,
    versionsOf: (page) => [...versions.byId.backFrom(page)],
    isActive,
    changePage: (page) => void pages.change(pages.byId.at(page), { unpublishAt: null }),
    changeVersion: (version) => void versions.change(versions.byId.at(version), UNSCHEDULED),
  })
  const deletions = memoryDeletions({
    groups,
    outbox,
    isActive,
    began: deleted,
    pagesAfter: (group, afterPageId, max) =>
      pages.byId.after(group, afterPageId, undefined, max).map(({ pageId, publishedVersionId }) => ({
        pageId,
        isPublished: publishedVersionId !== null,
      })),
    unpublish: (group, afterPageId, toPageId) => {
      for (const page of pages.byId.after(group, afterPageId))
        if (page.publishedAt !== null && (toPageId === null || page.pageId <= toPageId))
          pages.change(page, { publishedVersionId: null, publishedAt: null })
    },
  })
  const pageGroups = memoryPageGroups(groups, outbox)
  const hasPage = (lookup: { readonly tenantId: string; readonly pageId: string }): boolean =>
    pages.byTenant.at(lookup) !== undefined
  return { pageGroups, deletions, pages: pagesPort, versions: versionsPort, schedules, hasPage }
}
