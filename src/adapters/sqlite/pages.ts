import type { FoundPage, KnownPages, Pages, StoredPage, StoredVersion } from '../../core/ports/pages.ts'
import { columnsOf } from '../columns.ts'
import { AFTER_ALL_IDS, NEW_PAGE_COLUMNS, newPageRow, type PageRow, takeSlice } from '../rows.ts'
import { type Database, insertInto } from './open.ts'

type Group = KnownPages['groups'][number]
type Page = KnownPages['pages'][number]

const GROUP = `
  select g.tenant_id, g.page_group_id, g.status, g.title, c.pages_count
  from page_groups g
    join page_counts c on c.tenant_id = g.tenant_id and c.page_group_id = g.page_group_id
  where g.tenant_id = ? and g.page_group_id = ? and g.status <> 'deleted'`
const BY_KEY = `
  select tenant_id, page_group_id, page_id, idempotency_key, request_hash, created_at
  from pages where tenant_id = ? and page_group_id = ? and idempotency_key = ?`
const insertPage = insertInto('pages', NEW_PAGE_COLUMNS)
const NEW_VERSION =
  'tenant_id, page_id, version_id, page_group_id, version_number, status, claimable_at, created_at'
const insertVersion = insertInto('page_versions', columnsOf(NEW_VERSION))
const OF_GROUP = 'where tenant_id = ? and page_group_id = ?'
const GROUP_IS_ACTIVE = `select 1 from page_groups ${OF_GROUP} and status = 'active'`
const GROUP_EXISTS = `select 1 from page_groups ${OF_GROUP} and status <> 'deleted'`
const COUNT_ONE = `update page_counts set pages_count = pages_count + 1 ${OF_GROUP}`
const LIST = `
  select tenant_id, page_group_id, page_id, custom_name, computed_name, created_at, updated_at
  from pages where tenant_id = ? and page_group_id = ? and page_id < ?
  order by page_id desc`
const FIND = `
  select tenant_id, page_group_id, page_id, custom_name, computed_name, supplementary_context, created_at,
    updated_at, published_version_id, latest_version_id
  from pages where tenant_id = ? and page_group_id = ? and page_id = ?`
const VERSION = `
  select version_id, version_number, status, published_at, failure_reason
  from page_versions where tenant_id = ? and page_id = ? and version_id = ?`

/** Calls `added` after pages were recorded. */
export const sqlitePages = (database: Database, added: () => void): Pages => ({
  recall: async ({ groups, keys }) => ({
    groups: groups.flatMap((want) => database.get<Group>(GROUP, want.tenantId, want.pageGroupId) ?? []),
    pages: keys.flatMap(
      (want) => database.get<Page>(BY_KEY, want.tenantId, want.pageGroupId, want.idempotencyKey) ?? [],
    ),
  }),

  record: async (pages) => {
    const recorded = await database.record(() => {
      for (const { tenantId, pageGroupId } of pages)
        if (!database.has(GROUP_IS_ACTIVE, tenantId, pageGroupId)) return 'overtaken'
      for (const p of pages) {
        insertPage(database, newPageRow(p))
        insertVersion(database, { ...p, status: 'processing', claimableAt: p.createdAt })
        database.run(COUNT_ONE, p.tenantId, p.pageGroupId)
      }
      return 'recorded'
    })
    if (recorded === 'recorded') added()
    return recorded
  },

  list: async (wants) =>
    wants.map(({ tenantId, pageGroupId, beforeId, limit }) => {
      if (!database.has(GROUP_EXISTS, tenantId, pageGroupId)) return null
      const take = (pages: Iterable<StoredPage>) => takeSlice(pages, limit)
      return database.from(take, LIST, tenantId, pageGroupId, beforeId ?? AFTER_ALL_IDS)
    }),

  find: async (wants) =>
    wants.map(({ tenantId, pageGroupId, pageId }): FoundPage => {
      if (!database.has(GROUP_EXISTS, tenantId, pageGroupId)) return 'page_group_not_found'
      const row = database.get<PageRow>(FIND, tenantId, pageGroupId, pageId)
      if (row === undefined) return 'page_not_found'
      const { publishedVersionId, latestVersionId, ...page } = row
      const version = (versionId: string) =>
        database.get<StoredVersion>(VERSION, tenantId, pageId, versionId) as StoredVersion
      return {
        ...page,
        published: publishedVersionId === null ? null : version(publishedVersionId),
        latest: version(latestVersionId),
      }
    }),
})
