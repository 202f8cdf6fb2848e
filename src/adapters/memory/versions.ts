import type { Settlement, Versions } from '../../core/ports/versions.ts'
import { settledRow, storedVersion } from '../stores/page-rows.ts'
import { eventsOfSaved } from '../stores/rows.ts'
import { takeSlice } from '../stores/take-slice.ts'
import { claimFrom } from './claim.ts'
import { type KeptPage, type PageTables, visibleGroup, withContent } from './page-tables.ts'
import { compare, type IsActive } from './table.ts'

export const memoryVersions = (tables: PageTables, isActive: IsActive): Versions => {
  const { groups, pages, versions, outbox } = tables
  /** Versions that wait for publication, of tenants that are not suspended. */
  const waiting = () => versions.byStatus.after({ status: 'processing' }).filter(isActive)

  return {
    list: async (lookup) =>
      visibleGroup(tables, lookup)
        ? takeSlice(versions.byId.backFrom(lookup, lookup.beforeId).map(storedVersion), lookup.limit)
        : [],
    find: async (lookup) => {
      const version = visibleGroup(tables, lookup) && versions.byId.at(lookup)
      return version ? withContent(version) : null
    },
    findByKey: async (lookup) =>
      (visibleGroup(tables, lookup) && structuredClone(versions.byKey.at(lookup))) ?? null,
    tally: async (lookup) => {
      const all = visibleGroup(tables, lookup) ? [...versions.byId.backFrom(lookup)] : []
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
        if (settleOne(tables, tenantId, settlement)) saved.push(settlement.versionId)
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
}

/** Returns whether the settlement was saved. */
const settleOne = (tables: PageTables, tenantId: string, settlement: Settlement): boolean => {
  const { pages, versions } = tables
  const version = versions.byStatus.at({ status: 'processing', versionId: settlement.versionId })
  if (version?.tenantId !== tenantId || version.attempts !== settlement.attempt) return false
  const page = pages.byId.at(version) as KeptPage
  if (settlement.status === 'published' && !visibleGroup(tables, page)) return false
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
