import type { ClaimedVersion, NamingContext, Settlement, Versions } from '../../core/ports.ts'
import { plainArray, textArray } from './arrays.ts'
import type { Ask } from './connect.ts'

type ContextRow = NamingContext & { readonly pageId: string }

/**
 * The claim serves no caller, so it is the one that leaves the tenant: a plain conditional update, which also works
 * where the tables are distributed by tenant. Of two publishers that want the same version the second waits for the
 * first, sees that it is no longer claimable, and passes it over.
 */
export const postgresVersions = (ask: Ask): Versions => ({
  claim: async ({ now, until, max }) => {
    const oldest = await ask(
      (sql) => sql<{ versionId: string; claimableAt: string }[]>`
        select version_id, claimable_at from page_versions
        where status = 'processing' and claimable_at <= ${now}
        order by claimable_at, version_id limit ${max}`,
    )
    const last = oldest.at(-1)
    if (last === undefined) return []
    return ask(
      (sql) => sql<ClaimedVersion[]>`
        update page_versions set claimable_at = ${until}, attempts = attempts + 1
        where status = 'processing' and claimable_at <= ${last.claimableAt}
          and version_id = any(${textArray(oldest.map(({ versionId }) => versionId))}::text[])
        returning tenant_id, page_group_id, page_id, version_id, attempts as attempt`,
    )
  },

  contexts: async (tenantId, pages) => {
    const rows = await ask(
      (sql) => sql<ContextRow[]>`
        select p.page_id, g.title as group_title, g.page_context, p.supplementary_context
        from unnest(${textArray(pages.map(() => tenantId))}::text[],
            ${textArray(pages.map((page) => page.pageGroupId))}::text[],
            ${textArray(pages.map((page) => page.pageId))}::text[]) as want (tenant_id, page_group_id, page_id)
          join pages p on p.tenant_id = want.tenant_id and p.page_group_id = want.page_group_id
            and p.page_id = want.page_id
          join page_groups g on g.tenant_id = want.tenant_id and g.page_group_id = want.page_group_id`,
    )
    const contextOf = new Map(rows.map(({ pageId, ...context }) => [pageId, context]))
    return pages.map(({ pageId }) => contextOf.get(pageId) ?? missing(pageId))
  },

  settle: async (tenantId, settlements) => {
    const rows = settlements.map(rowOf)
    await ask(
      (sql) => sql`
        with settled as (
          update page_versions v set status = done.status, published_at = done.published_at,
            failure_reason = done.failure_reason, claimable_at = coalesce(done.claimable_at, v.claimable_at),
            attempts = v.attempts - done.uncounted
          from unnest(${textArray(rows.map(() => tenantId))}::text[],
            ${textArray(rows.map((row) => row.pageId))}::text[],
            ${textArray(rows.map((row) => row.versionId))}::text[],
            ${plainArray(rows.map((row) => row.attempt))}::int[],
            ${textArray(rows.map((row) => row.status))}::text[],
            ${textArray(rows.map((row) => row.publishedAt))}::timestamptz[],
            ${textArray(rows.map((row) => row.computedName))}::text[],
            ${textArray(rows.map((row) => row.failureReason))}::text[],
            ${textArray(rows.map((row) => row.claimableAt))}::timestamptz[],
            ${plainArray(rows.map((row) => row.uncounted))}::int[])
            as done (tenant_id, page_id, version_id, attempt, status, published_at, computed_name, failure_reason,
              claimable_at, uncounted)
          where v.tenant_id = done.tenant_id and v.page_id = done.page_id and v.version_id = done.version_id
            and v.status not in ('published', 'failed') and v.attempts = done.attempt
          returning v.tenant_id, v.page_group_id, v.page_id, v.version_id, v.status, done.published_at,
            done.computed_name
        )
        update pages p set published_version_id = settled.version_id, updated_at = settled.published_at,
          computed_name = coalesce(settled.computed_name, p.computed_name)
        from settled
        where p.tenant_id = settled.tenant_id and p.page_group_id = settled.page_group_id
          and p.page_id = settled.page_id and settled.status = 'published'`,
    )
  },
})

const missing = (pageId: string): never => {
  throw new Error(`${pageId} or its group is missing`)
}

const rowOf = (done: Settlement) => ({
  pageId: done.pageId,
  versionId: done.versionId,
  attempt: done.attempt,
  status: done.status,
  publishedAt: done.status === 'published' ? done.at : null,
  computedName: done.status === 'published' ? done.computedName : null,
  failureReason: done.status === 'failed' ? done.reason : null,
  claimableAt: done.status === 'processing' ? done.claimableAt : null,
  uncounted: done.status === 'processing' && !done.counts ? 1 : 0,
})
