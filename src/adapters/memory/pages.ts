import type { FoundPage, NewPageRow, PageChange, Pages, PageWant } from '../../core/ports/pages.ts'
import type { FoundVersion, Settlement, Versions } from '../../core/ports/versions.ts'
import { firstVersionRow, newPageRow, newVersionRow, settledRow, storedPage, storedVersion } from '../rows.ts'
import { takeSlice } from '../take-slice.ts'
import { claimFrom } from './claim.ts'
import type { Outbox } from './events.ts'
import { groupTable, memoryPageGroups } from './page-groups.ts'
import { indexBy, tableOf } from './table.ts'

type KeptPage = ReturnType<typeof newPageRow> & { readonly publishedVersionId: string | null }
type KeptVersion = Omit<ReturnType<typeof newVersionRow>, 'status'> & FoundVersion

/** Calls `added` after versions were added. */
export const memoryPages = (outbox: Outbox, added: () => void) => {
  const groups = groupTable()
  const pages = tableOf({
    byId: indexBy<KeptPage>(['tenantId', 'pageGroupId'], ['pageId']),
    byKey: indexBy<KeptPage>(['tenantId', 'pageGroupId', 'idempotencyKey']),
  })
  const versions = tableOf({
    byId: indexBy<KeptVersion>(['tenantId', 'pageGroupId', 'pageId'], ['versionId']),
    byKey: indexBy<KeptVersion>(['tenantId', 'pageId', 'idempotencyKey']),
    byStatus: indexBy<KeptVersion>(['status'], ['versionId']),
  })
  const visibleGroup = (want: Pick<PageWant, 'tenantId' | 'pageGroupId'>) => {
    const group = groups.byId.at(want)
    return group?.status === 'deleted' ? undefined : group
  }
  const countPages = (want: PageWant, change: 1 | -1) => {
    const group = groups.byId.at(want)
    if (group) groups.change(group, { pagesCount: group.pagesCount + change, revision: group.revision + 1 })
  }
  const addVersion = (row: ReturnType<typeof newVersionRow>) =>
    versions.add({ ...structuredClone(row), publishedAt: null, failureReason: null })
  const addPage = (page: NewPageRow) => {
    pages.add({ ...newPageRow(page), publishedVersionId: null })
    addVersion(firstVersionRow(page))
    countPages(page, 1)
  }

  const storedPagesOf = function* (want: Omit<PageWant, 'pageId'>, beforeId: string | null) {
    for (const page of pages.byId.backFrom(want, beforeId)) yield storedPage(page)
  }
  const versionsOf = function* (want: PageWant, beforeId: string | null) {
    for (const version of versions.byId.backFrom(want, beforeId)) yield storedVersion(version)
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
    record: async (rows, events) => {
      const isOvertaken = (row: NewPageRow) =>
        groups.byId.at(row)?.status !== 'active' || pages.byKey.at(row) !== undefined
      if (rows.some(isOvertaken)) return 'overtaken'
      outbox.save(rows, events)
      rows.forEach(addPage)
      added()
      return 'recorded'
    },
    list: async (wants) =>
      wants.map((want) =>
        visibleGroup(want) ? takeSlice(storedPagesOf(want, want.beforeId), want.limit) : null,
      ),
    find: async (wants) =>
      wants.map((want): FoundPage => {
        const group = visibleGroup(want)
        if (!group) return 'page_group_not_found'
        const page = pages.byId.at(want)
        if (page === undefined) return 'page_not_found'
        const { revision, publishedVersionId, latestVersionId } = page
        const version = (versionId: string) => versions.byId.at({ ...page, versionId }) as KeptVersion
        const published = publishedVersionId === null ? null : version(publishedVersionId)
        return {
          ...storedPage(page),
          revision,
          groupStatus: group.status,
          published: published && {
            ...storedVersion(published),
            content: want.withoutContent ? null : published.content,
          },
          latest: storedVersion(version(latestVersionId)),
        }
      }),
    change: async (change, events) => {
      const page = pages.byId.at(change)
      const group = visibleGroup(change)
      if (page?.revision !== change.revision || !group) return 'overtaken'
      if (change.inActiveGroup && group.status !== 'active') return 'overtaken'
      if (change.added && versions.byKey.at(newVersionRow(change, change.added))) return 'overtaken'
      outbox.save([change], events)
      save(page, change)
      return 'recorded'
    },
    remove: async (want, events) => {
      const page = pages.byId.at(want)
      if (page?.revision !== want.revision || !visibleGroup(want)) return 'overtaken'
      outbox.save([want], events)
      for (const version of [...versions.byId.backFrom(want)]) versions.remove(version)
      pages.remove(page)
      countPages(want, -1)
      return 'recorded'
    },
  }
  const save = (page: KeptPage, { added: version, publishes, ...change }: PageChange) => {
    const { customName, computedName, publishedVersionId, latestVersionId, updatedAt, revision } = change
    const fields = { customName, computedName, publishedVersionId, latestVersionId, updatedAt }
    pages.change(page, { ...fields, revision: revision + 1 })
    if (version) addVersion(newVersionRow(page, version))
    const published = publishes ? versions.byId.at({ ...page, versionId: publishedVersionId }) : undefined
    versions.change(published, { status: 'published', publishedAt: updatedAt })
    if (version) added()
  }

  /** Whether it was saved. */
  const settle = (tenantId: string, done: Settlement): boolean => {
    const version = versions.byStatus.at({ status: 'processing', versionId: done.versionId })
    if (version?.tenantId !== tenantId || version.attempts !== done.attempt) return false
    const page = pages.byId.at(version) as KeptPage
    const { status, publishedAt, failureReason, finishedAt, ...row } = settledRow(tenantId, done)
    if (publishedAt && (page.publishedVersionId ?? '') > version.versionId) return false
    const computedName = row.computedName ?? version.computedName
    versions.change(version, {
      ...{ status, publishedAt, failureReason, computedName },
      claimableAt: row.claimableAt ?? version.claimableAt,
      attempts: version.attempts - row.uncounted,
    })
    if (status === 'processing') return true
    const isNamedByIt =
      publishedAt || (page.publishedVersionId === null && page.latestVersionId === version.versionId)
    pages.change(page, {
      revision: page.revision + 1,
      updatedAt: finishedAt ?? page.updatedAt,
      publishedVersionId: publishedAt ? version.versionId : page.publishedVersionId,
      computedName: isNamedByIt ? computedName : page.computedName,
    })
    return true
  }

  const versionsPort: Versions = {
    list: async (wants) =>
      wants.map((want) => (visibleGroup(want) ? takeSlice(versionsOf(want, want.beforeId), want.limit) : [])),
    find: async (wants) => wants.map((want) => foundVersion(visibleGroup(want) && versions.byId.at(want))),
    findByKey: async (want) => foundVersion(visibleGroup(want) && versions.byKey.at(want)),
    claim: async (want) =>
      claimFrom(versions.byStatus.after({ status: 'processing' }), versions.change, want).map(
        ({ tenantId, pageGroupId, pageId, versionId, attempts, publish }) => {
          return { tenantId, pageGroupId, pageId, versionId, attempt: attempts, publish }
        },
      ),
    context: async (want) => {
      const [version, group] = [versions.byId.at(want), groups.byId.at(want)]
      if (version === undefined || group === undefined) return null
      const { supplementaryContext } = version
      return { groupTitle: group.title, pageContext: group.pageContext, supplementaryContext }
    },
    // The newest first: of several of one page only that is published.
    settle: async (tenantId, settlements, eventOf) => {
      const saved = settlements
        .toSorted((a, b) => (a.versionId < b.versionId ? 1 : -1))
        .filter((done) => settle(tenantId, done))
      const ended = saved.filter(({ status }) => status !== 'processing')
      outbox.save([{ tenantId }], eventOf && (() => ended.map(eventOf)))
      return saved.map(({ versionId }) => versionId)
    },
  }

  /** For the metrics: see postgres/versions.ts. */
  const backlog = async (countMax: number) => {
    const waiting = [...versions.byStatus.after({ status: 'processing' })].slice(0, countMax)
    const times = waiting.map(({ createdAt }) => createdAt)
    return { count: times.length, oldest: times.toSorted()[0] ?? null }
  }
  return { pageGroups: memoryPageGroups(groups, outbox), pages: pagesPort, versions: versionsPort, backlog }
}

const foundVersion = (version: KeptVersion | undefined): FoundVersion | null =>
  version === undefined
    ? null
    : { ...storedVersion(version), content: version.content, requestHash: version.requestHash }
