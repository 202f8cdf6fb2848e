import type { Deletions, PageGroupDeletion, PageToUnpublish } from '../../core/ports/deletions.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import type { Outbox } from './outbox.ts'
import type { Query } from './sql.ts'

/** Calls `began` after a group was deleted. */
export const citusDeletions = (
  query: Query,
  outbox: Outbox,
  began: () => void,
): Omit<Deletions, 'waiting'> => ({
  begin: async ({ tenantId, pageGroupId, apiKeyId, deletedAt }, lastUpdatedAt, revision) => {
    const recorded = await outbox.change(tenantId, [], async (send) => {
      const changed = await send`
        update page_groups g set status = 'deleted', deleted_at = ${deletedAt}, updated_at = ${deletedAt},
          revision = g.revision + 1
        where g.tenant_id = ${tenantId} and g.page_group_id = ${pageGroupId} and g.updated_at = ${lastUpdatedAt}
          and (${revision ?? null}::int is null or ${revision ?? null}::int = g.revision + (
            select c.changes from page_counts c
            where c.tenant_id = ${tenantId} and c.page_group_id = ${pageGroupId}
          ))
        returning 1`
      if (changed.length === 0) return false
      send`
        insert into page_group_deletions (tenant_id, page_group_id, api_key_id, after_page_id, after_event_id)
        values (${tenantId}, ${pageGroupId}, ${apiKeyId}, '', '')`
      return true
    })
    if (recorded === 'recorded') began()
    return recorded
  },

  next: async (tenantId) => {
    const [deletion] = await query(tenantId)<PageGroupDeletion>`
      select d.tenant_id, d.page_group_id, d.api_key_id, d.after_page_id, d.after_event_id
      from page_group_deletions d where d.tenant_id = ${tenantId} order by d.page_group_id limit 1`
    return deletion ?? null
  },

  pages: async ({ tenantId, pageGroupId, afterPageId }, max) => query(tenantId)<PageToUnpublish>`
    select p.page_id, p.published_version_id is not null as is_published from pages p
    where p.tenant_id = ${tenantId} and p.page_group_id = ${pageGroupId} and p.page_id > ${afterPageId}
    order by p.page_id limit ${max}`,

  record: ({ tenantId, pageGroupId, afterPageId }, progress, events) =>
    outbox.change(tenantId, events, async (send) => {
      const changed =
        progress === null
          ? await send`
            delete from page_group_deletions d
            where d.tenant_id = ${tenantId} and d.page_group_id = ${pageGroupId} and d.after_page_id = ${afterPageId}
            returning 1`
          : await send`
            update page_group_deletions d set after_page_id = ${progress.afterPageId},
              after_event_id = ${progress.afterEventId}
            where d.tenant_id = ${tenantId} and d.page_group_id = ${pageGroupId} and d.after_page_id = ${afterPageId}
            returning 1`
      if (changed.length === 0) return false
      send`
        update pages p set published_version_id = null, published_at = null
        where p.tenant_id = ${tenantId} and p.page_group_id = ${pageGroupId} and p.page_id > ${afterPageId}
          and p.page_id <= ${progress?.afterPageId ?? AFTER_ALL_IDS} and p.published_at is not null`
      return true
    }),
})
