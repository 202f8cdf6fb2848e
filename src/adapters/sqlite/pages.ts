import type { FoundPage, Pages, StoredPage, StoredVersion } from '../../core/ports/pages.ts'
import { columnsOf } from '../columns.ts'
import { NEW_PAGE_COLUMNS, newPageRow, type PageRow } from '../rows.ts'
import { BEFORE_ID, type Database, insertInto } from './open.ts'

const OF_GROUP = 'where tenant_id = :tenantId and page_group_id = :pageGroupId'
const GROUP = `
  select g.tenant_id, g.page_group_id, g.status, g.title, c.pages_count
  from page_groups g
    join page_counts c on c.tenant_id = g.tenant_id and c.page_group_id = g.page_group_id
  where g.tenant_id = :tenantId and g.page_group_id = :pageGroupId and g.status <> 'deleted'`
const BY_KEY = `
  select tenant_id, page_group_id, page_id, idempotency_key, request_hash, created_at
  from pages ${OF_GROUP} and idempotency_key = :idempotencyKey`
const ADD = insertInto('pages', NEW_PAGE_COLUMNS)
const NEW_VERSION =
  'tenant_id, page_id, version_id, page_group_id, version_number, status, claimable_at, created_at'
const ADD_VERSION = insertInto('page_versions', columnsOf(NEW_VERSION))
const GROUP_IS_ACTIVE = `select 1 from page_groups ${OF_GROUP} and status = 'active'`
const GROUP_EXISTS = `select 1 from page_groups ${OF_GROUP} and status <> 'deleted'`
const COUNT_ONE = `update page_counts set pages_count = pages_count + 1 ${OF_GROUP}`
const PAGE = 'select tenant_id, page_group_id, page_id, custom_name, computed_name, created_at, updated_at'
const LIST = `
  ${PAGE} from pages ${OF_GROUP} and page_id < ${BEFORE_ID} order by page_id desc`
const FIND = `
  ${PAGE}, supplementary_context, published_version_id, latest_version_id
  from pages ${OF_GROUP} and page_id = :pageId`
const VERSION = `
  select version_id, version_number, status, published_at, failure_reason
  from page_versions where tenant_id = :tenantId and page_id = :pageId and version_id = :versionId`

/** Calls `added` after pages were recorded. */
export const sqlitePages = (database: Database, added: () => void): Pages => ({
  recall: async ({ groups, keys }) => ({
    groups: database.getEach(GROUP, groups),
    pages: database.getEach(BY_KEY, keys),
  }),

  record: (pages) =>
    database.record(() => {
      if (!pages.every((page) => database.has(GROUP_IS_ACTIVE, page))) return 'overtaken'
      for (const page of pages) {
        database.run(ADD, newPageRow(page))
        database.run(ADD_VERSION, { ...page, status: 'processing', claimableAt: page.createdAt })
        database.run(COUNT_ONE, page)
      }
      return 'recorded'
    }, added),

  list: async (wants) =>
    wants.map((want) => (database.has(GROUP_EXISTS, want) ? database.slice<StoredPage>(LIST, want) : null)),

  find: async (wants) =>
    wants.map((want): FoundPage => {
      if (!database.has(GROUP_EXISTS, want)) return 'page_group_not_found'
      const row = database.get<PageRow>(FIND, want)
      if (row === null) return 'page_not_found'
      const { publishedVersionId, latestVersionId, ...page } = row
      const version = (versionId: string) =>
        database.get<StoredVersion>(VERSION, { ...want, versionId }) as StoredVersion
      return {
        ...page,
        published: publishedVersionId === null ? null : version(publishedVersionId),
        latest: version(latestVersionId),
      }
    }),
})
