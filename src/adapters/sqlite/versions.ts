import type { ClaimedVersion, Versions } from '../../core/ports/versions.ts'
import { type Backlog, settledRow } from '../rows.ts'
import { claimFrom } from './claim.ts'
import type { Database, Values } from './open.ts'

const CONTEXT = `
  select g.title as group_title, g.page_context, p.supplementary_context
  from pages p join page_groups g on g.tenant_id = p.tenant_id and g.page_group_id = p.page_group_id
  where p.tenant_id = :tenantId and p.page_group_id = :pageGroupId and p.page_id = :pageId`
const SETTLE = `
  update page_versions set status = :status, published_at = :publishedAt, failure_reason = :failureReason,
    claimable_at = coalesce(:claimableAt, claimable_at), attempts = attempts - :uncounted
  where tenant_id = :tenantId and page_id = :pageId and version_id = :versionId
    and status = 'processing' and attempts = :attempt
  returning page_group_id`
const PUBLISH = `
  update pages set published_version_id = :versionId, updated_at = :publishedAt,
    computed_name = coalesce(:computedName, computed_name)
  where tenant_id = :tenantId and page_group_id = :pageGroupId and page_id = :pageId`

/** For the metrics: see postgres/versions.ts. */
const BACKLOG = `
  select count(*) as count, min(created_at) as oldest from (
    select created_at from page_versions where status = 'processing' order by tenant_id, claimable_at limit :countMax
  )`
export const sqliteBacklog =
  (database: Database) =>
  async (countMax: number): Promise<Backlog> =>
    database.get(BACKLOG, { countMax }) ?? { count: 0, oldest: null }

const QUEUE = { table: 'page_versions', key: 'page_id, version_id', answered: 'page_group_id' }

export const sqliteVersions = (database: Database): Versions => ({
  claim: claimFrom<ClaimedVersion>(database, QUEUE),

  context: async (page) => database.get(CONTEXT, page),

  settle: (tenantId, settlements) =>
    database.write(() =>
      settlements.flatMap((done) => {
        const row = settledRow(tenantId, done)
        const settled = database.get<Values>(SETTLE, row)
        if (settled !== null && done.status === 'published') database.run(PUBLISH, { ...row, ...settled })
        return settled === null ? [] : done.versionId
      }),
    ),
})
