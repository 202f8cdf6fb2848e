import type {
  KnownForNewPage,
  ListedPage,
  Pages,
  PagesQuery,
  PublishedPosition,
} from '../../core/ports/pages.ts'
import { type FoundRow, foundPage } from '../postgres/found-page.ts'
import { listedPage, type PublishedRow, publishedPage, SHOWN_VERSION } from '../stores/page-rows.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import type { Together } from '../stores/together.ts'
import { eachTenant, type Of, rowsOfEach, slicesByTenant } from './by-tenant.ts'
import { columns, type Fragment, nothing, type Query, sql } from './sql.ts'
import { slice } from './walk.ts'

/** One row of `recall`: the group, the page with the same idempotency key, or the owner of the slug. */
type RecallRow =
  | (NonNullable<KnownForNewPage['group']> & { readonly part: 'group' })
  | (NonNullable<KnownForNewPage['page']> & { readonly part: 'page' })
  | { readonly part: 'slug'; readonly pageId: string }
type ListedRow = ListedPage & { readonly lookup: number; readonly pageId: string | null }
const BY_GROUP = columns('lookup', 'tenant_id, page_group_id')
const BY_KEY = columns('lookup', 'tenant_id, page_group_id, idempotency_key')
const BY_SLUG = columns('lookup', 'tenant_id, page_group_id, slug')
const LISTED = columns('lookup', 'number int, page_group_id, before_id, rows_max int')
const SHOWN = columns('v', SHOWN_VERSION)
const FOUND = columns('lookup', 'number int, tenant_id, page_group_id, page_id')

/**
 * Looks up a page group by the expression of the index of groups that are not deleted, or of groups by status. The id
 * alone would give the planner a choice: each index on page groups begins with the tenant.
 */
export const citusPageReads = (
  query: Query,
  together: Together,
): Omit<Pages, 'record' | 'change' | 'remove'> => ({
  recall: async (lookup) => {
    const keys = lookup.idempotencyKey === undefined ? [] : [lookup]
    const slugs = lookup.slug === undefined ? [] : [lookup]
    const rows = await eachTenant({ groups: [lookup], keys, slugs }, ({ groups, keys, slugs }, of) => {
      return query(of.tenantId)<RecallRow>`
        select 'group' as part, l.tenant_id, l.page_group_id, l.status, l.title,
          null as page_id, null as idempotency_key, null as request_hash, null::timestamptz as created_at
        from ${BY_GROUP.from(groups)}
          cross join lateral (
            select g.tenant_id, g.page_group_id, g.status, g.title from page_groups g
            where g.tenant_id = ${of.tenant} and ${IS_WANTED_GROUP} ${of.once}
          ) l
        ${keys.length === 0 ? nothing : andByKey(keys, of)}
        ${slugs.length === 0 ? nothing : andBySlug(slugs, of)}`
    })
    return {
      group: rows.find((row) => row.part === 'group') ?? null,
      page: rows.find((row) => row.part === 'page') ?? null,
      slugOwnerId: rows.find((row) => row.part === 'slug')?.pageId ?? null,
    }
  },

  list: together.read('pages.list', async (lookups: readonly PagesQuery[]) => {
    const lists = await slicesByTenant(lookups, (tenantLookups, of) => {
      return query(of.tenantId)<ListedRow>`
        select lookup.number as lookup, l.tenant_id, l.page_group_id, l.page_id, l.slug, l.custom_name, l.computed_name,
          l.created_at, l.updated_at, l.published_at
        from ${LISTED.from(tenantLookups)}
          ${ifGroupExists(of)}
          left join lateral ${olderPages(of.tenantId)} on true
        order by lookup.number, l.page_id desc`
    })
    // A group without pages is one row without a page.
    const pagesOf = (rows: readonly ListedRow[]) => (rows[0]?.pageId === null ? [] : rows.map(listedPage))
    return lists.map((rows) => (rows.length === 0 ? null : pagesOf(rows)))
  }),

  listPublished: async ({ tenantId, limit, publishedAfter, before }) => {
    const rows = await query(tenantId)<PublishedRow>`
      select l.tenant_id, l.page_group_id, l.page_id, l.slug, l.custom_name, l.computed_name, l.created_at, l.updated_at,
        l.published_at, l.group_status, l.version_id, l.version_number, l.content
      from ${publishedPages(tenantId, publishedAfter, before, limit + 1)}
      order by l.published_at desc, l.page_id desc`
    return rows.map(publishedPage)
  },

  find: async (lookup, withContent = true) => {
    const [found = []] = await rowsOfEach([lookup], (tenantLookups, of) => {
      return query(of.tenantId)<FoundRow & { readonly lookup: number }>`
        select lookup.number as lookup, p.slug, p.custom_name, p.computed_name as page_name, p.revision,
          p.created_at as page_created_at, p.updated_at, p.published_version_id, p.automatic_after, g.status as group_status,
          p.unpublish_at as page_unpublish_at, ${SHOWN.selected},
          case when v.version_id = p.published_version_id ${withContent ? nothing : NEVER} then v.content::text end as content
        from ${FOUND.from(tenantLookups)}
          ${ifGroupExists(of)}
          left join lateral (
            select p.* from pages p
            where p.tenant_id = ${of.tenant} and p.page_group_id = lookup.page_group_id
              and p.page_id = lookup.page_id ${of.once}
          ) p on true
          left join lateral (
            ${versionOf(of, sql`p.latest_version_id`)} union all
            ${versionOf(of, sql`nullif(p.published_version_id, p.latest_version_id)`)}
          ) v on true`
    })
    return foundPage(found, lookup)
  },

  findSlug: async ({ tenantId, pageGroupId, slug }) => {
    const [page] = await query(tenantId)<{ readonly pageId: string }>`
      select p.page_id from pages p
        join page_groups g on g.tenant_id = p.tenant_id and g.page_group_id = p.page_group_id and g.status <> 'deleted'
      where p.tenant_id = ${tenantId} and p.page_group_id = ${pageGroupId} and p.slug = ${slug}`
    return page?.pageId ?? null
  },
})

/** A version by its whole key: for two ids, a plan made while pages had one version reads all versions of a page. */
const versionOf = (of: Of, id: Fragment) => sql`(
  select v.* from page_versions v
  where v.tenant_id = ${of.tenant} and v.page_id = p.page_id and v.version_id = ${id}
  ${of.once})`

const publishedPages = (
  tenantId: string,
  after: string | null,
  before: PublishedPosition | null,
  rowsMax: number,
) => {
  const from = before ?? { publishedAt: '9999-12-31T23:59:59.999Z', pageId: AFTER_ALL_IDS }
  const rows = sql`select * from (
    select p.*, coalesce(g.status, 'deleted') as group_status, v.version_id, v.version_number, v.content::text as content
    from (
      select * from pages p
      where p.tenant_id = ${tenantId} and p.published_at is not null
        and p.published_at > ${after ?? '1970-01-01T00:00:00.000Z'}
        and (p.published_at, p.page_id) < (${from.publishedAt}, ${from.pageId})
      order by p.published_at desc, p.page_id desc limit ${rowsMax}
    ) p
      left join page_groups g on g.tenant_id = ${tenantId}
        and (case when g.status <> 'deleted' then g.page_group_id end) = p.page_group_id
      join page_versions v
        on v.tenant_id = ${tenantId} and v.page_id = p.page_id and v.version_id = p.published_version_id
  ) l`
  const bytes = sql`coalesce(octet_length(l.content), 0) + coalesce(octet_length(l.custom_name), 0)`
  return slice(rows, bytes, sql`l.published_at desc, l.page_id desc`, rowsMax)
}

const olderPages = (tenantId: string | null) => {
  const rows = sql`
    select * from pages l
    where l.tenant_id = ${tenantId} and l.page_group_id = lookup.page_group_id and l.page_id < lookup.before_id`
  return slice(rows, sql`octet_length(l.custom_name)`, sql`l.page_id desc`, sql`lookup.rows_max`)
}

export const ifGroupExists = (of: Of) => sql`
  cross join lateral (
    select g.status from page_groups g
    where g.tenant_id = ${of.tenant} and ${IS_WANTED_GROUP} ${of.once}
  ) g`

const NEVER = sql`and false`
const IS_WANTED_GROUP = sql`(case when g.status <> 'deleted' then g.page_group_id end) = lookup.page_group_id`

const andByKey = (keys: readonly object[], of: Of) => sql`
  union all
  select p.* from ${BY_KEY.from(keys)}
    cross join lateral (
      select 'page', p.tenant_id, p.page_group_id, null, null,
        p.page_id, p.idempotency_key, p.request_hash, p.created_at
      from pages p
      where p.tenant_id = ${of.tenant} and p.page_group_id = lookup.page_group_id
        and p.idempotency_key = lookup.idempotency_key ${of.once}
    ) p`

const andBySlug = (slugs: readonly object[], of: Of) => sql`
  union all
  select p.* from ${BY_SLUG.from(slugs)}
    cross join lateral (
      select 'slug', null, null, null, null, p.page_id, null, null, null::timestamptz
      from pages p
      where p.tenant_id = ${of.tenant} and p.page_group_id = lookup.page_group_id
        and p.slug = lookup.slug ${of.once}
    ) p`
