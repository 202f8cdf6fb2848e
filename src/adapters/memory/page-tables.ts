import type { NewPageGroupRow, PageGroupKey } from '../../core/ports/page-groups.ts'
import { type newPageRow, type newVersionRow, type ShownVersion, storedVersion } from '../stores/page-rows.ts'
import type { Outbox } from './events.ts'
import { indexBy, tableOf } from './table.ts'

export type KeptGroup = NewPageGroupRow & { readonly revision: number }
export type KeptPage = ReturnType<typeof newPageRow> &
  Record<'publishedVersionId' | 'publishedAt' | 'automaticAfter' | 'unpublishAt', string | null>
export type KeptVersion = Omit<ReturnType<typeof newVersionRow>, 'status'> & ShownVersion

export type PageTables = ReturnType<typeof memoryPageTables>

export const UNSCHEDULED = { publishAt: null, unpublishAt: null, scheduleNote: null }

/** Page groups, their pages, and the versions of these. */
export const memoryPageTables = (outbox: Outbox) => ({
  outbox,
  groups: outbox.registerTable(
    'page_groups',
    tableOf({
      byId: indexBy<KeptGroup>(['tenantId'], ['pageGroupId']),
      byKey: indexBy<KeptGroup>(['tenantId', 'idempotencyKey']),
    }),
  ),
  pages: outbox.registerTable(
    'pages',
    tableOf({
      byId: indexBy<KeptPage>(['tenantId', 'pageGroupId'], ['pageId']),
      byTenant: indexBy<KeptPage>(['tenantId'], ['pageId']),
      byKey: indexBy<KeptPage>(['tenantId', 'pageGroupId', 'idempotencyKey']),
      bySlug: indexBy<KeptPage>(['tenantId', 'pageGroupId', 'slug']),
      published: indexBy<KeptPage>(['tenantId'], ['publishedAt', 'pageId']),
      scheduled: indexBy<KeptPage>(['tenantId'], ['unpublishAt', 'pageId']),
    }),
  ),
  versions: outbox.registerTable(
    'page_versions',
    tableOf({
      byId: indexBy<KeptVersion>(['tenantId', 'pageGroupId', 'pageId'], ['versionId']),
      byKey: indexBy<KeptVersion>(['tenantId', 'pageId', 'idempotencyKey']),
      byStatus: indexBy<KeptVersion>(['status'], ['versionId']),
      scheduled: indexBy<KeptVersion>(['tenantId'], ['publishAt', 'versionId']),
    }),
  ),
})

/** A page group that is not deleted. */
export const visibleGroup = ({ groups }: PageTables, lookup: PageGroupKey): KeptGroup | undefined => {
  const group = groups.byId.at(lookup)
  return group?.status === 'deleted' ? undefined : group
}

export const withContent = (version: KeptVersion) => ({
  ...storedVersion(version),
  content: version.content,
})
