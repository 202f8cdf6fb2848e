import type { ClaimedVersion, ClaimWant, Settlement, Versions } from '../../core/ports/versions.ts'
import { columnsOf } from '../columns.ts'
import { type Backlog, settledRow } from '../rows.ts'
import { boundTo, type Database } from './open.ts'

/** Tenants after this one that have something claimable. */
const DUE_TENANTS = `
  with recursive waiting (tenant_id) as (
    select min(tenant_id) from page_versions where status = 'processing' and tenant_id > ?
    union all
    select (select min(v.tenant_id) from page_versions v
      where v.status = 'processing' and v.tenant_id > waiting.tenant_id)
    from waiting where waiting.tenant_id is not null
  )
  select tenant_id from waiting
  where (select min(v.claimable_at) from page_versions v
      where v.status = 'processing' and v.tenant_id = waiting.tenant_id) <= ?
    or (select max(v.claimable_at) from page_versions v
      where v.status = 'processing' and v.tenant_id = waiting.tenant_id) > ?
  limit ?`
const DUE = `
  select tenant_id, page_id, version_id from page_versions
  where status = 'processing' and tenant_id = ? and claimable_at > ? and claimable_at <= ?
  order by claimable_at limit ?`
const CLAIM = `
  update page_versions set claimable_at = ?, attempts = attempts + 1
  where tenant_id = ? and page_id = ? and version_id = ?
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

export const sqliteVersions = (database: Database): Versions => ({
  claim: async (want) => {
    // While nothing is due other processes can go on writing.
    if (findDue(database, { ...want, max: 1 }).length === 0) return []
    return database.write(() =>
      findDue(database, want).map(
        (due) => database.get(CLAIM, want.until, due.tenantId, due.pageId, due.versionId) as ClaimedVersion,
      ),
    )
  },

  context: async ({ tenantId, pageGroupId, pageId }) =>
    database.get(CONTEXT, tenantId, pageGroupId, pageId) ?? null,

  settle: async (tenantId, settlements) =>
    database.write(() =>
      settlements.filter((done) => settle(database, tenantId, done)).map(({ versionId }) => versionId),
    ),
})

type Due = Pick<ClaimedVersion, 'tenantId' | 'pageId' | 'versionId'>

/** From tenant to tenant along the index of what waits, no further than `max`. */
const findDue = (database: Database, { now, horizon, afterTenantId, max }: ClaimWant): readonly Due[] => {
  const found: Due[] = []
  const tenants = database.all<{ tenantId: string }>(DUE_TENANTS, afterTenantId, now, horizon, max)
  for (const { tenantId } of tenants) {
    found.push(...database.all<Due>(DUE, tenantId, '', now, max - found.length))
    found.push(...database.all<Due>(DUE, tenantId, horizon, '~', max - found.length))
  }
  return found
}

/** Whether the attempt was still the latest one. */
const settle = (database: Database, tenantId: string, done: Settlement): boolean => {
  const row = settledRow(tenantId, done)
  const settled = database.get<{ pageGroupId: string }>(SETTLE, ...settledValues(row))
  if (settled !== undefined && done.status === 'published')
    database.run(PUBLISH, ...publishedValues({ ...row, ...settled }))
  return settled !== undefined
}
