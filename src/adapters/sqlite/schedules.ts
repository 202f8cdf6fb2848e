import { type DuePage, SCHEDULED_MAX, type Schedules } from '../../core/ports/schedules.ts'
import type { Database } from './open.ts'
import { isSuspended } from './tenants.ts'

/** Scheduled versions and pages: see the indexes with the same conditions. */
const WAITING = [
  {
    rows: "page_versions where publish_at is not null and status in ('ready', 'published')",
    at: 'publish_at',
  },
  { rows: 'pages where unpublish_at is not null', at: 'unpublish_at' },
]
/** Goes from tenant to tenant along the index. */
const TENANTS = WAITING.map(
  ({ rows, at }) => `
    with recursive t (tenant_id) as (
      select :afterTenantId
      union all
      select (select min(tenant_id) from ${rows} and tenant_id > t.tenant_id) from t where tenant_id is not null
    )
    select tenant_id from t
    where tenant_id > :afterTenantId and not ${isSuspended('t')} and (select min(${at}) from ${rows} and tenant_id = t.tenant_id) <= :until
    limit :max`,
)
const DUE = WAITING.map(
  ({ rows, at }) => `
    select tenant_id, page_group_id, page_id, ${at} as at
    from ${rows} and tenant_id = :tenantId and ${at} <= :until order by ${at} limit :max`,
)
const OF_PAGE = 'where tenant_id = :tenantId and page_id = :pageId and publish_at is not null'
const SCHEDULED = `
  select version_id, status, computed_name, publish_at, unpublish_at
  from page_versions indexed by page_versions_scheduled_of_page ${OF_PAGE}
  and page_group_id = :pageGroupId and status <> 'failed' order by publish_at, version_id limit ${SCHEDULED_MAX}`
const END = [
  `update page_versions set publish_at = null ${OF_PAGE}`,
  `update pages set unpublish_at = null
    where tenant_id = :tenantId and page_group_id = :pageGroupId and page_id = :pageId`,
]

export const sqliteSchedules = (database: Database): Schedules => ({
  waiting: async (want) =>
    TENANTS.flatMap((sql) => database.all<DuePage>(sql, want)).map(({ tenantId }) => tenantId),
  due: async (want) => DUE.flatMap((sql) => database.all<DuePage>(sql, want)),
  ofPage: async (want) => database.all(SCHEDULED, want),
  end: (page) =>
    database.write(() => {
      for (const sql of END) database.run(sql, page)
    }),
})
