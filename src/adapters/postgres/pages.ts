import type { KnownPages, Pages, StoredPage, StoredVersion } from '../../core/ports/pages.ts'
import { type PageRow, storedPage, storedVersion } from '../rows.ts'
import { byTenant, rowsOfEach, slicesByTenant, tenantOf, upTo, wantedTenant } from './by-tenant.ts'
import { pagesFromArrays, pagesOnCluster } from './new-pages.ts'
import { pagesCount } from './page-groups.ts'
import { nothing, type Query, sql } from './sql.ts'
import { columns, unlessOvertaken } from './statements.ts'
import { slice } from './walk.ts'

type RecallRow =
  | (KnownPages['groups'][number] & { readonly pageId: null })
  | (KnownPages['pages'][number] & { readonly pageId: string })
type ListedRow = StoredPage & { readonly want: number; readonly pageId: string | null }
/** A page with one of its versions; `pageId` is null if there is no page. */
type FoundRow = Omit<PageRow, 'pageId'> &
  StoredVersion & { readonly want: number; readonly pageId: string | null }

const BY_GROUP = columns('want', 'tenant_id, page_group_id')
const BY_KEY = columns('want', 'tenant_id, page_group_id, idempotency_key')
const LISTED = columns('want', 'number int, page_group_id, before_id, rows_max int')
const FOUND = columns('want', 'number int, tenant_id, page_group_id, page_id')

/**
 * A page group is looked up by the expression that only the index of those not deleted, or of those with a status,
 * holds. Its id alone would give the planner a choice: each index on page groups begins with the tenant.
 * Calls `added` after pages were recorded.
 */
export const postgresPages = (query: Query, added: () => void, isCluster: boolean): Pages => ({
  recall: async (wants) => {
    const rows = await byTenant(isCluster, wants, (tenantId, { groups, keys }) => {
      return query(tenantId)<RecallRow>`
        select l.tenant_id, l.page_group_id, l.status, l.title, ${pagesCount(tenantId)},
          null as page_id, null as idempotency_key, null as request_hash, null::timestamptz as created_at
        from ${BY_GROUP.from(groups)}
          cross join lateral (
            select g.tenant_id, g.page_group_id, g.status, g.title from page_groups g
            where g.tenant_id = ${wantedTenant(tenantId)} and ${IS_WANTED_GROUP} ${upTo(1, tenantId)}
          ) l
        ${keys.length === 0 ? nothing : andByKey(keys, tenantId)}`
    })
    return {
      groups: rows.filter((row) => row.pageId === null),
      pages: rows.filter((row) => row.pageId !== null),
    }
  },

  record: async (pages) => {
    const write = isCluster ? pagesOnCluster : pagesFromArrays
    const tenantId = tenantOf(isCluster, pages)
    const recorded = await unlessOvertaken(query(tenantId)`${write(pages)}`)
    if (recorded === 'recorded') added()
    return recorded
  },

  list: async (wants) => {
    const lists = await slicesByTenant(wants, (tenantId, its) => {
      return query(tenantId)<ListedRow>`
        select want.number as want, l.tenant_id, l.page_group_id, l.page_id, l.custom_name, l.computed_name,
          l.created_at, l.updated_at
        from ${LISTED.from(its)}
          ${ifGroupExists(tenantId)}
          left join lateral ${olderPages(tenantId)} on true
        order by want.number, l.page_id desc`
    })
    const pagesOf = (rows: readonly ListedRow[]) =>
      rows.flatMap((row) => (row.pageId === null ? [] : storedPage(row)))
    return lists.map((rows) => (rows.length === 0 ? null : pagesOf(rows)))
  },

  find: async (wants) => {
    const found = await rowsOfEach(!isCluster, wants, (tenantId, its) => {
      return query(tenantId)<FoundRow>`
        select want.number as want, p.tenant_id, p.page_group_id, p.page_id, p.custom_name, p.computed_name,
          p.supplementary_context, p.created_at, p.updated_at, p.published_version_id, p.latest_version_id,
          v.version_id, v.version_number, v.status, v.published_at, v.failure_reason
        from ${FOUND.from(its)}
          ${ifGroupExists(tenantId)}
          left join lateral (
            select p.* from pages p
            where p.tenant_id = ${wantedTenant(tenantId)} and p.page_group_id = want.page_group_id
              and p.page_id = want.page_id ${upTo(1, tenantId)}
          ) p on true
          left join lateral (
            select v.* from page_versions v
            where v.tenant_id = ${wantedTenant(tenantId)} and v.page_id = p.page_id
              and v.version_id = any (array[p.published_version_id, p.latest_version_id]) ${upTo(2, tenantId)}
          ) v on true`
    })
    return found.map(foundPage)
  },
})

const foundPage = (rows: readonly FoundRow[]) => {
  const [page] = rows
  if (page === undefined) return 'page_group_not_found'
  const { pageId, supplementaryContext, publishedVersionId, latestVersionId } = page
  if (pageId === null) return 'page_not_found'
  const version = (id: string) => storedVersion(rows.find(({ versionId }) => versionId === id) as FoundRow)
  return {
    ...storedPage({ ...page, pageId }),
    supplementaryContext,
    published: publishedVersionId === null ? null : version(publishedVersionId),
    latest: version(latestVersionId),
  }
}

const olderPages = (tenantId: string | null) => {
  const rows = sql`
    select * from pages l
    where l.tenant_id = ${tenantId} and l.page_group_id = want.page_group_id and l.page_id < want.before_id`
  return slice(rows, sql`octet_length(l.custom_name)`, sql`l.page_id desc`, sql`want.rows_max`)
}

const ifGroupExists = (tenantId: string | null) => sql`
  cross join lateral (
    select 1 from page_groups g
    where g.tenant_id = ${wantedTenant(tenantId)} and ${IS_WANTED_GROUP} ${upTo(1, tenantId)}
  ) g`

const IS_WANTED_GROUP = sql`(case when g.status <> 'deleted' then g.page_group_id end) = want.page_group_id`

const andByKey = (keys: readonly object[], tenantId: string | null) => sql`
  union all
  select p.* from ${BY_KEY.from(keys)}
    cross join lateral (
      select p.tenant_id, p.page_group_id, null, null, null::int,
        p.page_id, p.idempotency_key, p.request_hash, p.created_at
      from pages p
      where p.tenant_id = ${wantedTenant(tenantId)} and p.page_group_id = want.page_group_id
        and p.idempotency_key = want.idempotency_key ${upTo(1, tenantId)}
    ) p`
