import {
  type DuePage,
  SCHEDULED_MAX,
  type ScheduledVersion,
  type Schedules,
} from '../../core/ports/schedules.ts'
import type { Timestamp } from '../../core/ports/world.ts'
import { type Piece, piece, type Query } from './sql.ts'

/** Scheduled versions and pages are read along the indexes with the same conditions. */
export const postgresSchedules = (query: Query): Schedules => ({
  waiting: async ({ afterTenantId, until, max }) => {
    const rows = await query()<{ tenantId: string }>`${withActions(afterTenantId, until, max)}`
    return rows.map(({ tenantId }) => tenantId)
  },

  due: ({ tenantId, until, max }) =>
    query(tenantId)<DuePage>`
      (
        select v.tenant_id, v.page_group_id, v.page_id, v.publish_at as at from page_versions v
        where v.publish_at is not null and v.status in ('ready', 'published')
          and v.tenant_id = ${tenantId} and v.publish_at <= ${until}
        order by v.publish_at limit ${max}
      )
      union all
      (
        select p.tenant_id, p.page_group_id, p.page_id, p.unpublish_at as at from pages p
        where p.unpublish_at is not null and p.tenant_id = ${tenantId} and p.unpublish_at <= ${until}
        order by p.unpublish_at limit ${max}
      )`,

  ofPage: ({ tenantId, pageGroupId, pageId }) =>
    query(tenantId)<ScheduledVersion>`
      select v.version_id, v.status, v.computed_name, v.publish_at, v.unpublish_at from page_versions v
      where v.tenant_id = ${tenantId} and v.page_id = ${pageId} and v.page_group_id = ${pageGroupId}
        and v.publish_at is not null and v.status <> 'failed'
      order by v.publish_at, v.version_id limit ${SCHEDULED_MAX}`,

  end: async ({ tenantId, pageGroupId, pageId }) => {
    await query(tenantId)`
      with ended as (
        update pages p set unpublish_at = null
        where p.tenant_id = ${tenantId} and p.page_group_id = ${pageGroupId} and p.page_id = ${pageId}
      )
      update page_versions v set publish_at = null
      where v.tenant_id = ${tenantId} and v.page_id = ${pageId} and v.publish_at is not null`
  },
})

/**
 * The tenants with actions due until a time: at most `max` with versions and `max` with pages. Goes from tenant to tenant
 * along each index. What is due is looked up by a scalar subquery: the planner may turn `exists` into a join that reads
 * every scheduled row.
 */
export const withActions = (afterTenantId: string, until: Timestamp, max: number): Piece => piece`
  with recursive with_versions (tenant_id) as (
    (
      select v.tenant_id from page_versions v
      where v.publish_at is not null and v.status in ('ready', 'published') and v.tenant_id > ${afterTenantId}
      order by v.tenant_id limit 1
    )
    union all
    select (
      select v.tenant_id from page_versions v
      where v.publish_at is not null and v.status in ('ready', 'published')
        and v.tenant_id > with_versions.tenant_id
      order by v.tenant_id limit 1
    )
    from with_versions where with_versions.tenant_id is not null
  ), with_pages (tenant_id) as (
    (
      select p.tenant_id from pages p
      where p.unpublish_at is not null and p.tenant_id > ${afterTenantId}
      order by p.tenant_id limit 1
    )
    union all
    select (
      select p.tenant_id from pages p
      where p.unpublish_at is not null and p.tenant_id > with_pages.tenant_id
      order by p.tenant_id limit 1
    )
    from with_pages where with_pages.tenant_id is not null
  )
  (
    select s.tenant_id from with_versions s
    where s.tenant_id is not null
      and not exists (select 1 from tenants t where t.tenant_id = s.tenant_id and t.suspended_at is not null)
      and (
        select true from page_versions v
        where v.publish_at is not null and v.status in ('ready', 'published')
          and v.tenant_id = s.tenant_id and v.publish_at <= ${until}
        limit 1
      )
    limit ${max}
  )
  union all
  (
    select s.tenant_id from with_pages s
    where s.tenant_id is not null
      and not exists (select 1 from tenants t where t.tenant_id = s.tenant_id and t.suspended_at is not null)
      and (
        select true from pages p
        where p.unpublish_at is not null and p.tenant_id = s.tenant_id and p.unpublish_at <= ${until}
        limit 1
      )
    limit ${max}
  )`
