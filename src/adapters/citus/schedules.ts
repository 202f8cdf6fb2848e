import {
  type DuePage,
  SCHEDULED_MAX,
  type ScheduledVersion,
  type Schedules,
} from '../../core/ports/schedules.ts'
import { type Query, sql } from './sql.ts'

/** Scheduled versions and pages: see the indexes with the same conditions. */
export const SCHEDULED = [
  {
    table: sql`page_versions v`,
    isScheduled: sql`v.publish_at is not null and v.status in ('ready', 'published')`,
    at: sql`v.publish_at`,
  },
  { table: sql`pages v`, isScheduled: sql`v.unpublish_at is not null`, at: sql`v.unpublish_at` },
]

export const citusSchedules = (query: Query): Omit<Schedules, 'waiting'> => ({
  due: async ({ tenantId, until, max }) => {
    const found = SCHEDULED.map(
      ({ table, isScheduled, at }) => query(tenantId)<DuePage>`
          select v.tenant_id, v.page_group_id, v.page_id, ${at} as at from ${table}
          where v.tenant_id = ${tenantId} and ${isScheduled} and ${at} <= ${until} order by ${at} limit ${max}`,
    )
    return (await Promise.all(found)).flat()
  },

  ofPage: async ({ tenantId, pageGroupId, pageId }) => query(tenantId)<ScheduledVersion>`
        select v.version_id, v.status, v.computed_name, v.publish_at, v.unpublish_at from page_versions v
        where v.tenant_id = ${tenantId} and v.page_id = ${pageId} and v.page_group_id = ${pageGroupId}
          and v.publish_at is not null and v.status <> 'failed'
        order by v.publish_at, v.version_id limit ${SCHEDULED_MAX}`,

  end: async ({ tenantId, pageGroupId, pageId }) => {
    await query(tenantId)`
        with ended as (
          update pages v set unpublish_at = null
          where v.tenant_id = ${tenantId} and v.page_group_id = ${pageGroupId} and v.page_id = ${pageId}
        )
        update page_versions v set publish_at = null
        where v.tenant_id = ${tenantId} and v.page_id = ${pageId} and v.publish_at is not null`
  },
})
