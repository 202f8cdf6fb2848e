import type { ClaimedVersion, Settlement, Versions } from '../../core/ports/versions.ts'
import { columnsOf } from '../columns.ts'
import { type Backlog, settledRow } from '../rows.ts'
import { claimFrom } from './claim.ts'
import { boundTo, type Database } from './open.ts'

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
const settledValues = boundTo(
  columnsOf(`status, published_at, failure_reason, claimable_at, uncounted int, tenant_id, page_id, version_id,
    attempt int`),
)
const publishedValues = boundTo(
  columnsOf('version_id, published_at, computed_name, tenant_id, page_group_id, page_id'),
)

/** For the metrics: see postgres/versions.ts. */
const BACKLOG = `
  select count(*) as count, min(created_at) as oldest from (
    select created_at from page_versions where status = 'processing' order by tenant_id, claimable_at limit ?
  )`
export const sqliteBacklog =
  (database: Database) =>
  async (countMax: number): Promise<Backlog> =>
    database.get(BACKLOG, countMax) ?? { count: 0, oldest: null }

const QUEUE = { table: 'page_versions', key: ['page_id', 'version_id'], answered: ['page_group_id'] }

export const sqliteVersions = (database: Database): Versions => ({
  claim: claimFrom<ClaimedVersion>(database, QUEUE),

  context: async ({ tenantId, pageGroupId, pageId }) =>
    database.get(CONTEXT, tenantId, pageGroupId, pageId) ?? null,

  settle: async (tenantId, settlements) =>
    database.write(() =>
      settlements.filter((done) => settle(database, tenantId, done)).map(({ versionId }) => versionId),
    ),
})

/** Whether the attempt was still the latest one. */
const settle = (database: Database, tenantId: string, done: Settlement): boolean => {
  const row = settledRow(tenantId, done)
  const settled = database.get<{ pageGroupId: string }>(SETTLE, ...settledValues(row))
  if (settled !== undefined && done.status === 'published')
    database.run(PUBLISH, ...publishedValues({ ...row, ...settled }))
  return settled !== undefined
}
