import type { ClaimedVersion, NamingContext, Versions } from '../../core/ports.ts'
import type { Database } from './open.ts'

const CLAIM = `
  update page_versions set claimable_at = ?, attempts = attempts + 1
  where (tenant_id, page_id, version_id) in (
    select tenant_id, page_id, version_id from page_versions
    where status = 'processing' and claimable_at <= ? order by claimable_at limit ?
  )
  returning tenant_id, page_group_id, page_id, version_id, attempts as attempt`
const CONTEXT = `
  select g.title as group_title, g.page_context, p.supplementary_context
  from pages p join page_groups g on g.tenant_id = p.tenant_id and g.page_group_id = p.page_group_id
  where p.tenant_id = ? and p.page_group_id = ? and p.page_id = ?`
const SETTLE = `
  update page_versions set status = ?, published_at = ?, failure_reason = ?, claimable_at = coalesce(?, claimable_at),
    attempts = attempts - ?
  where tenant_id = ? and page_id = ? and version_id = ? and status = 'processing' and attempts = ?
  returning page_group_id`
const PUBLISH = `
  update pages set published_version_id = ?, updated_at = ?, computed_name = coalesce(?, computed_name)
  where tenant_id = ? and page_group_id = ? and page_id = ?`

export const sqliteVersions = (database: Database): Versions => ({
  claim: async ({ now, until, max }) => {
    // Nobody else is kept from writing while nothing waits.
    if (database.get(WAITING, now) === undefined) return []
    return database.write(() => database.all<ClaimedVersion>(CLAIM, until, now, max))
  },

  contexts: async (tenantId, pages) =>
    pages.map(
      ({ pageGroupId, pageId }) =>
        database.get<NamingContext>(CONTEXT, tenantId, pageGroupId, pageId) as NamingContext,
    ),

  settle: async (tenantId, settlements) =>
    database.write(() => {
      for (const done of settlements) {
        const at = done.status === 'published' ? done.at : null
        const settled = database.get<{ pageGroupId: string }>(
          SETTLE,
          done.status,
          at,
          done.status === 'failed' ? done.reason : null,
          done.status === 'processing' ? done.claimableAt : null,
          done.status === 'processing' && !done.counts ? 1 : 0,
          tenantId,
          done.pageId,
          done.versionId,
          done.attempt,
        )
        if (settled !== undefined && done.status === 'published')
          database.run(
            PUBLISH,
            done.versionId,
            at,
            done.computedName,
            tenantId,
            settled.pageGroupId,
            done.pageId,
          )
      }
    }),
})

const WAITING = "select 1 from page_versions where status = 'processing' and claimable_at <= ? limit 1"
