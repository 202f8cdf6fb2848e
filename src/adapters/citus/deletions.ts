import type { Deletions, PageGroupDeletion, PageToUnpublish } from '../../core/ports/deletions.ts'
import { COLUMNS } from '../stores/rows.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import { eachAlong } from './claim.ts'
import type { Forms } from './forms.ts'
import { AND_CHANGED, IS_CHANGED, type Outbox } from './outbox.ts'
import { columns, nothing, type Query, sql } from './sql.ts'
import { isSuspended } from './tenants.ts'

const DELETIONS = columns('deletion', COLUMNS.page_group_deletions)

/** Calls `began` after a group was deleted. */
export const postgresDeletions = (
  query: Query,
  { inserted }: Forms,
  outbox: Outbox,
  began: () => void,
): Deletions => ({
  begin: async ({ tenantId, pageGroupId, apiKeyId, deletedAt }, lastUpdatedAt, revision) => {
    const changes = sql`(select c.changes from page_counts c
      where c.tenant_id = ${tenantId} and c.page_group_id = ${pageGroupId})`
    const matchesId = revision === undefined ? nothing : sql`and revision + ${changes} = ${revision}::int`
    const changed = sql`changed as (
      update page_groups set status = 'deleted', deleted_at = ${deletedAt}, updated_at = ${deletedAt}, revision = revision + 1
      where tenant_id = ${tenantId} and page_group_id = ${pageGroupId} and updated_at = ${lastUpdatedAt} ${matchesId}
      returning 1)`
    const row = { tenantId, pageGroupId, apiKeyId, afterPageId: '', afterEventId: '' }
    const begun = sql`begun as (insert into page_group_deletions ${inserted(DELETIONS, [row], IS_CHANGED)})`
    const recorded = await outbox.change({ tenantId }, [], [changed, begun])
    if (recorded === 'recorded') began()
    return recorded
  },

  waiting: async (afterTenantId, max) => {
    const deletions = sql`page_group_deletions v where true`
    const rows = await query()<{ tenantId: string }>`
      with recursive ${eachAlong(sql`v.tenant_id`, deletions, afterTenantId)}
      select id as tenant_id from each where id is not null and not ${isSuspended(sql`id`)} limit ${max}`
    return rows.map(({ tenantId }) => tenantId)
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

  record: ({ tenantId, pageGroupId, afterPageId }, progress, events) => {
    const isSame = sql`
      d.tenant_id = ${tenantId} and d.page_group_id = ${pageGroupId} and d.after_page_id = ${afterPageId}`
    const changed =
      progress === null
        ? sql`changed as (delete from page_group_deletions d where ${isSame} returning 1)`
        : sql`changed as (
            update page_group_deletions d set after_page_id = ${progress.afterPageId}, after_event_id = ${progress.afterEventId}
            where ${isSame} returning 1)`
    const unpublished = sql`unpublished as (
      update pages p set published_version_id = null, published_at = null
      where p.tenant_id = ${tenantId} and p.page_group_id = ${pageGroupId} and p.page_id > ${afterPageId}
        and p.page_id <= ${progress?.afterPageId ?? AFTER_ALL_IDS} and p.published_at is not null ${AND_CHANGED})`
    return outbox.change({ tenantId }, events, [changed, unpublished])
  },
})
