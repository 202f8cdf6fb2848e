import type { Deletions, PageToUnpublish } from '../../core/ports/deletions.ts'
import { COLUMNS } from '../stores/rows.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import type { Database } from './open.ts'
import type { Outbox } from './outbox.ts'
import { insertInto } from './statements.ts'
import { isSuspended } from './tenants.ts'

const DELETE = `
  update page_groups set status = 'deleted', deleted_at = :deletedAt, updated_at = :deletedAt, revision = revision + 1
  where tenant_id = :tenantId and page_group_id = :pageGroupId and updated_at = :lastUpdatedAt
    and (:ifRevision is null or revision + (
      select changes from page_counts where tenant_id = :tenantId and page_group_id = :pageGroupId
    ) = :ifRevision)`
const ADD = insertInto('page_group_deletions', COLUMNS.page_group_deletions)
/** From one tenant to the next along the primary key. */
const WAITING = `
  with recursive walk (tenant_id) as (
    select min(tenant_id) from page_group_deletions where tenant_id > :afterTenantId
    union all
    select (select min(d.tenant_id) from page_group_deletions d where d.tenant_id > walk.tenant_id)
    from walk where tenant_id is not null
  )
  select tenant_id from walk where tenant_id is not null and not ${isSuspended('walk')} limit :max`
const NEXT = `
  select tenant_id, page_group_id, api_key_id, after_page_id, after_event_id from page_group_deletions
  where tenant_id = :tenantId order by page_group_id limit 1`
const PAGES = `
  select page_id, published_version_id is not null as is_published from pages
  where tenant_id = :tenantId and page_group_id = :pageGroupId and page_id > :afterPageId
  order by page_id limit :max`
const MOVE = `
  update page_group_deletions set after_page_id = :toPageId, after_event_id = :toEventId
  where tenant_id = :tenantId and page_group_id = :pageGroupId and after_page_id = :afterPageId`
const COMPLETE = `
  delete from page_group_deletions
  where tenant_id = :tenantId and page_group_id = :pageGroupId and after_page_id = :afterPageId`
const UNPUBLISH = `
  update pages set published_version_id = null, published_at = null
  where tenant_id = :tenantId and page_group_id = :pageGroupId and page_id > :afterPageId and page_id <= :toPageId
    and published_at is not null`

/** Calls `began` after a group was deleted. */
export const sqliteDeletions = (database: Database, outbox: Outbox, began: () => void): Deletions => ({
  begin: (deletion, lastUpdatedAt, revision) =>
    database.record(() => {
      if (database.run(DELETE, { ...deletion, lastUpdatedAt, ifRevision: revision ?? null }) === 0)
        return 'overtaken'
      const { tenantId, pageGroupId, apiKeyId } = deletion
      database.run(ADD, { tenantId, pageGroupId, apiKeyId, afterPageId: '', afterEventId: '' })
      return 'recorded'
    }, began),

  waiting: async (afterTenantId, max) =>
    database.all<{ tenantId: string }>(WAITING, { afterTenantId, max }).map(({ tenantId }) => tenantId),

  next: async (tenantId) => database.get(NEXT, { tenantId }),

  pages: async ({ tenantId, pageGroupId, afterPageId }, max) => {
    const rows = database.all<{ pageId: string; isPublished: number }>(PAGES, {
      tenantId,
      pageGroupId,
      afterPageId,
      max,
    })
    return rows.map(
      ({ pageId, isPublished }): PageToUnpublish => ({ pageId, isPublished: isPublished === 1 }),
    )
  },

  record: ({ tenantId, pageGroupId, afterPageId }, progress, events) =>
    database.record(() => {
      const key = { tenantId, pageGroupId, afterPageId }
      const changed =
        progress === null
          ? database.run(COMPLETE, key)
          : database.run(MOVE, {
              ...key,
              toPageId: progress.afterPageId,
              toEventId: progress.afterEventId,
            })
      if (changed === 0) return 'overtaken'
      database.run(UNPUBLISH, { ...key, toPageId: progress?.afterPageId ?? AFTER_ALL_IDS })
      outbox.add(events)
      return 'recorded'
    }),
})
