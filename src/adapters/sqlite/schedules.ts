import { type DuePage, SCHEDULED_MAX, type Schedules } from '../../core/ports/schedules.ts'
import type { Database } from './open.ts'
import { isSuspended } from './tenants.ts'

// The conditions are those of the indexes, along which each statement goes.
const TENANTS_TO_PUBLISH = `
  with recursive walk (tenant_id) as (
    select :afterTenantId
    union all
    select (
      select min(s.tenant_id) from page_versions s where s.publish_at is not null and s.status in ('ready', 'published') and s.tenant_id > walk.tenant_id
    )
    from walk where tenant_id is not null
  )
  select tenant_id from walk
  where tenant_id > :afterTenantId and not ${isSuspended('walk')}
    and (select min(s.publish_at) from page_versions s where s.publish_at is not null and s.status in ('ready', 'published') and s.tenant_id = walk.tenant_id) <= :until
  limit :max`
const TENANTS_TO_UNPUBLISH = `
  with recursive walk (tenant_id) as (
    select :afterTenantId
    union all
    select (
      select min(s.tenant_id) from pages s where s.unpublish_at is not null and s.tenant_id > walk.tenant_id
    )
    from walk where tenant_id is not null
  )
  select tenant_id from walk
  where tenant_id > :afterTenantId and not ${isSuspended('walk')}
    and (select min(s.unpublish_at) from pages s where s.unpublish_at is not null and s.tenant_id = walk.tenant_id) <= :until
  limit :max`
const DUE_VERSIONS = `
  select tenant_id, page_group_id, page_id, publish_at as at from page_versions
  where publish_at is not null and status in ('ready', 'published') and tenant_id = :tenantId and publish_at <= :until
  order by publish_at limit :max`
const DUE_PAGES = `
  select tenant_id, page_group_id, page_id, unpublish_at as at from pages
  where unpublish_at is not null and tenant_id = :tenantId and unpublish_at <= :until
  order by unpublish_at limit :max`
const SCHEDULED = `
  select version_id, status, computed_name, publish_at, unpublish_at
  from page_versions indexed by page_versions_scheduled_of_page
  where tenant_id = :tenantId and page_id = :pageId and publish_at is not null and page_group_id = :pageGroupId
    and status <> 'failed'
  order by publish_at, version_id limit ${SCHEDULED_MAX}`
const END_VERSIONS = `
  update page_versions set publish_at = null
  where tenant_id = :tenantId and page_id = :pageId and publish_at is not null`
const END_PAGE = `
  update pages set unpublish_at = null
  where tenant_id = :tenantId and page_group_id = :pageGroupId and page_id = :pageId`

export const sqliteSchedules = (database: Database): Schedules => ({
  waiting: async (lookup) => {
    const toPublish = database.all<Pick<DuePage, 'tenantId'>>(TENANTS_TO_PUBLISH, lookup)
    const toUnpublish = database.all<Pick<DuePage, 'tenantId'>>(TENANTS_TO_UNPUBLISH, lookup)
    return [...toPublish, ...toUnpublish].map(({ tenantId }) => tenantId)
  },

  due: async (lookup) => [
    ...database.all<DuePage>(DUE_VERSIONS, lookup),
    ...database.all<DuePage>(DUE_PAGES, lookup),
  ],

  ofPage: async (lookup) => database.all(SCHEDULED, lookup),

  end: (page) =>
    database.write(() => {
      database.run(END_VERSIONS, page)
      database.run(END_PAGE, page)
    }),
})
