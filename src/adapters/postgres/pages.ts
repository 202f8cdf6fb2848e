import type { FoundPage, KnownPages, NewPageRow, Pages, PageWants, StoredPage } from '../../core/ports.ts'
import { plainArray, textArray } from './arrays.ts'
import { byTenant } from './by-tenant.ts'
import type { Ask, Sql } from './connect.ts'
import { recordedUnlessOvertaken } from './error-codes.ts'
import { type FoundRow, foundPage } from './found-page.ts'

type RecallRow =
  | (KnownPages['groups'][number] & { readonly pageId: null })
  | (KnownPages['pages'][number] & { readonly pageId: string })
type ListedRow = StoredPage & { readonly want: number; readonly pageId: string | null }

/**
 * A page group is looked up by the text that only the index of those not deleted holds. Its id alone would leave the
 * planner a choice: each index on page groups begins with the tenant.
 */
export const postgresPages = (ask: Ask): Pages => ({
  recall: async ({ groups, keys }) => {
    const rows = await ask(
      (sql) => sql<RecallRow[]>`
        select g.tenant_id, g.page_group_id, g.status, g.title,
          (select c.pages_count::int from page_counts c
            where c.tenant_id = g.tenant_id and c.page_group_id = g.page_group_id) as pages_count,
          null as page_id, null as idempotency_key, null as request_hash, null::timestamptz as created_at
        from unnest(${textArray(groups.map((want) => want.tenantId))}::text[],
            ${textArray(groups.map((want) => want.pageGroupId))}::text[]) as want (tenant_id, page_group_id)
          join page_groups g on g.tenant_id = want.tenant_id
            and (case when g.status <> 'deleted' then g.page_group_id end) = want.page_group_id
        ${keys.length === 0 ? sql`` : andByKey(sql, keys)}`,
    )
    return {
      groups: rows.filter((row) => row.pageId === null),
      pages: rows.filter((row) => row.pageId !== null),
    }
  },

  record: async (pages) => {
    const counts = countsOf(pages)
    const tenantIds = textArray(pages.map((page) => page.tenantId))
    const groupIds = textArray(pages.map((page) => page.pageGroupId))
    const pageIds = textArray(pages.map((page) => page.pageId))
    const versionIds = textArray(pages.map((page) => page.versionId))
    const createdAts = textArray(pages.map((page) => page.createdAt))
    return recordedUnlessOvertaken(
      ask(
        (sql) => sql`
        with counted as (
          insert into page_counts as c (tenant_id, page_group_id, pages_count)
          select tenant_id, page_group_id, added
          from unnest(${textArray(counts.map((count) => count.tenantId))}::text[],
            ${textArray(counts.map((count) => count.pageGroupId))}::text[],
            ${plainArray(counts.map((count) => count.added))}::int[]) as count (tenant_id, page_group_id, added)
          order by tenant_id, page_group_id
          on conflict (tenant_id, page_group_id) do update set pages_count = c.pages_count + excluded.pages_count
        ), versioned as (
          insert into page_versions (tenant_id, page_id, version_id, page_group_id, version_number, status,
            claimable_at, created_at)
          select tenant_id, page_id, version_id, page_group_id, version_number, 'processing', created_at, created_at
          from unnest(${tenantIds}::text[], ${pageIds}::text[], ${versionIds}::text[], ${groupIds}::text[],
            ${plainArray(pages.map((page) => page.versionNumber))}::int[], ${createdAts}::timestamptz[])
            as version (tenant_id, page_id, version_id, page_group_id, version_number, created_at)
        )
        insert into pages (tenant_id, page_group_id, page_id, custom_name, computed_name, supplementary_context,
          latest_version_id, idempotency_key, request_hash, created_at, updated_at)
        select tenant_id, page_group_id, page_id, custom_name, computed_name, supplementary_context,
          version_id, idempotency_key, request_hash, created_at, created_at
        from unnest(${tenantIds}::text[], ${groupIds}::text[], ${pageIds}::text[],
          ${textArray(pages.map((page) => page.customName))}::text[],
          ${textArray(pages.map((page) => page.computedName))}::text[],
          ${textArray(pages.map((page) => page.supplementaryContext))}::text[], ${versionIds}::text[],
          ${textArray(pages.map((page) => page.idempotencyKey))}::text[],
          ${textArray(pages.map((page) => page.requestHash))}::text[], ${createdAts}::timestamptz[])
          as page (tenant_id, page_group_id, page_id, custom_name, computed_name, supplementary_context, version_id,
            idempotency_key, request_hash, created_at)
        order by tenant_id, page_group_id, idempotency_key, page_id`,
      ),
    )
  },

  list: async (wants) => {
    const rows = await byTenant(wants, (tenantId, its) =>
      ask(
        (sql) => sql<ListedRow[]>`
          select want.number as want, p.tenant_id, p.page_group_id, p.page_id, p.custom_name, p.computed_name,
            p.created_at, p.updated_at
          from unnest(${plainArray(its.map((want) => want.number))}::int[],
              ${textArray(its.map((want) => want.pageGroupId))}::text[],
              ${textArray(its.map((want) => want.beforeId ?? AFTER_ALL_IDS))}::text[],
              ${plainArray(its.map((want) => want.rowsMax))}::int[],
              ${plainArray(its.map((want) => want.namesBytesMax))}::int[])
              as want (number, page_group_id, before_id, rows_max, names_bytes_max)
            cross join lateral (
              select 1 from page_groups g
              where g.tenant_id = ${tenantId}
                and (case when g.status <> 'deleted' then g.page_group_id end) = want.page_group_id
              limit 1
            ) g
            left join lateral (
              select p.*, sum(octet_length(p.custom_name))
                  over (order by p.page_id desc rows between unbounded preceding and 2 preceding) as names_bytes
              from (
                select * from pages p
                where p.tenant_id = ${tenantId} and p.page_group_id = want.page_group_id
                  and p.page_id < want.before_id
                order by p.page_id desc limit want.rows_max
              ) p
            ) p on coalesce(p.names_bytes, 0) <= want.names_bytes_max
          order by want.number, p.page_id desc`,
      ),
    )
    const lists: (StoredPage[] | null)[] = wants.map(() => null)
    for (const { want, ...page } of rows) {
      lists[want] ??= []
      if (page.pageId !== null) lists[want].push(page)
    }
    return lists
  },

  find: async (wants) => {
    const rows = await ask(
      (sql) => sql<FoundRow[]>`
        select want.number as want, p.page_id, p.custom_name, p.computed_name, p.supplementary_context, p.created_at,
          p.updated_at, p.published_version_id, published.version_number as published_version_number,
          published.status as published_status, published.published_at as published_published_at,
          published.failure_reason as published_failure_reason,
          latest.version_id as latest_version_id, latest.version_number as latest_version_number,
          latest.status as latest_status, latest.published_at as latest_published_at,
          latest.failure_reason as latest_failure_reason
        from unnest(${plainArray(wants.map((_, number) => number))}::int[],
            ${textArray(wants.map((want) => want.tenantId))}::text[],
            ${textArray(wants.map((want) => want.pageGroupId))}::text[],
            ${textArray(wants.map((want) => want.pageId))}::text[])
            as want (number, tenant_id, page_group_id, page_id)
          join page_groups g on g.tenant_id = want.tenant_id
            and (case when g.status <> 'deleted' then g.page_group_id end) = want.page_group_id
          left join pages p on p.tenant_id = want.tenant_id and p.page_group_id = want.page_group_id
            and p.page_id = want.page_id
          left join page_versions published on published.tenant_id = p.tenant_id
            and published.page_id = p.page_id
            and published.version_id = nullif(p.published_version_id, p.latest_version_id)
          left join page_versions latest on latest.tenant_id = p.tenant_id
            and latest.page_id = p.page_id and latest.version_id = p.latest_version_id`,
    )
    const rowOf = new Map(rows.map((row) => [row.want, row]))
    return wants.map((want, number): FoundPage => {
      const row = rowOf.get(number)
      if (row === undefined) return 'page_group_not_found'
      return row.pageId === null ? 'page_not_found' : foundPage(row, want)
    })
  },
})

const andByKey = (sql: Sql, keys: PageWants['keys']) => sql`
  union all
  select p.tenant_id, p.page_group_id, null, null, null,
    p.page_id, p.idempotency_key, p.request_hash, p.created_at
  from unnest(${textArray(keys.map((want) => want.tenantId))}::text[],
      ${textArray(keys.map((want) => want.pageGroupId))}::text[],
      ${textArray(keys.map((want) => want.idempotencyKey))}::text[])
      as want (tenant_id, page_group_id, idempotency_key)
    join pages p on p.tenant_id = want.tenant_id and p.page_group_id = want.page_group_id
      and p.idempotency_key = want.idempotency_key`

/** Greater than every id: ids are of lower-case letters, digits and underscores. */
const AFTER_ALL_IDS = '~'

const countsOf = (pages: readonly NewPageRow[]) =>
  [...Map.groupBy(pages, (page) => `${page.tenantId} ${page.pageGroupId}`).values()].flatMap((group) => {
    const [first] = group
    return first === undefined
      ? []
      : [{ tenantId: first.tenantId, pageGroupId: first.pageGroupId, added: group.length }]
  })
