import type { Deletions, PageGroupDeletion, PageToUnpublish } from '../../core/ports/deletions.ts'
import type { Events, Outbox } from './outbox.ts'
import type { Query } from './sql.ts'

/** Calls `began` after a group was deleted. */
export const postgresDeletions = (
  query: Query,
  { confirm, newEvents }: Outbox,
  began: () => void,
): Deletions => ({
  begin: async ({ tenantId, pageGroupId, apiKeyId, deletedAt }, lastUpdatedAt, revision) => {
    const recorded = await confirm(
      query()<Events>`
        with changed as (
          update page_groups g set status = 'deleted', deleted_at = ${deletedAt}, updated_at = ${deletedAt},
            revision = g.revision + 1
          where g.tenant_id = ${tenantId} and g.page_group_id = ${pageGroupId} and g.updated_at = ${lastUpdatedAt}
            and (${revision ?? null}::int is null or ${revision ?? null}::int = g.revision + (
              select c.changes from page_counts c
              where c.tenant_id = ${tenantId} and c.page_group_id = ${pageGroupId}
            ))
          returning 1
        ), begun as (
          insert into page_group_deletions (tenant_id, page_group_id, api_key_id, after_page_id, after_event_id)
          select ${tenantId}::text, ${pageGroupId}::text, ${apiKeyId}::text, '', '' from changed
        )
        select 0 as events from changed`,
    )
    if (recorded === 'recorded') began()
    return recorded
  },

  /** Goes from tenant to tenant along the primary key. */
  waiting: async (afterTenantId, max) => {
    const rows = await query()<{ tenantId: string }>`
      with recursive waiting (tenant_id) as (
        (
          select d.tenant_id from page_group_deletions d
          where d.tenant_id > ${afterTenantId} order by d.tenant_id limit 1
        )
        union all
        select (
          select d.tenant_id from page_group_deletions d
          where d.tenant_id > waiting.tenant_id order by d.tenant_id limit 1
        )
        from waiting where waiting.tenant_id is not null
      )
      select w.tenant_id from waiting w
      where w.tenant_id is not null
        and not exists (select 1 from tenants t where t.tenant_id = w.tenant_id and t.suspended_at is not null)
      limit ${max}`
    return rows.map(({ tenantId }) => tenantId)
  },

  next: async (tenantId) => {
    const [deletion] = await query(tenantId)<PageGroupDeletion>`
      select d.tenant_id, d.page_group_id, d.api_key_id, d.after_page_id, d.after_event_id
      from page_group_deletions d where d.tenant_id = ${tenantId} order by d.page_group_id limit 1`
    return deletion ?? null
  },

  pages: ({ tenantId, pageGroupId, afterPageId }, max) =>
    query(tenantId)<PageToUnpublish>`
      select p.page_id, p.published_version_id is not null as is_published from pages p
      where p.tenant_id = ${tenantId} and p.page_group_id = ${pageGroupId} and p.page_id > ${afterPageId}
      order by p.page_id limit ${max}`,

  record: ({ tenantId, pageGroupId, afterPageId }, progress, events) =>
    confirm(
      progress === null
        ? query()<Events>`
            with changed as (
              delete from page_group_deletions d
              where d.tenant_id = ${tenantId} and d.page_group_id = ${pageGroupId}
                and d.after_page_id = ${afterPageId}
              returning 1
            ), unpublished as (
              update pages p set published_version_id = null, published_at = null
              where p.tenant_id = ${tenantId} and p.page_group_id = ${pageGroupId} and p.page_id > ${afterPageId}
                and p.published_at is not null and exists (select 1 from changed)
            ), ${newEvents(events)}
            select (select count(*)::int from new_events) as events from changed`
        : query()<Events>`
            with changed as (
              update page_group_deletions d set after_page_id = ${progress.afterPageId},
                after_event_id = ${progress.afterEventId}
              where d.tenant_id = ${tenantId} and d.page_group_id = ${pageGroupId}
                and d.after_page_id = ${afterPageId}
              returning 1
            ), unpublished as (
              update pages p set published_version_id = null, published_at = null
              where p.tenant_id = ${tenantId} and p.page_group_id = ${pageGroupId} and p.page_id > ${afterPageId}
                and p.page_id <= ${progress.afterPageId}
                and p.published_at is not null and exists (select 1 from changed)
            ), ${newEvents(events)}
            select (select count(*)::int from new_events) as events from changed`,
    ),
})
