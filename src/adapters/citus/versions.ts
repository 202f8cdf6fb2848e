import type { PageKey, StoredVersionWithContent } from '../../core/ports/pages.ts'
import type {
  CreatedByKey,
  Settlement,
  VersionByKey,
  VersionContext,
  VersionKey,
  Versions,
  VersionTally,
} from '../../core/ports/versions.ts'
import type { RowsQuery } from '../../core/ports/world.ts'
import { columns as jsonColumns } from '../postgres/sql.ts'
import { columnsOf } from '../stores/columns.ts'
import {
  SHOWN_VERSION,
  type ShownVersion,
  settledRow,
  storedVersion,
  type VersionRow,
  versionWithContent,
} from '../stores/page-rows.ts'
import { eventsOfSaved } from '../stores/rows.ts'
import type { Together } from '../stores/together.ts'
import { findBy, slicesByTenant } from './by-tenant.ts'
import { backlogOf } from './claim.ts'
import type { Outbox } from './outbox.ts'
import { ifGroupExists } from './pages.ts'
import { columns, type Query, sql } from './sql.ts'
import { isSuspended } from './tenants.ts'
import type { Send, Transact } from './transaction.ts'
import { slice } from './walk.ts'

type ListedRow = ShownVersion & { readonly lookup: number }

const TABLE = 'page_versions'
const PAGE = 'page_group_id, page_id'
const SHOWN = columns('l', SHOWN_VERSION)
const CREATED = columnsOf('version_id, version_number int, created_at timestamptz, request_hash')
const asCreated = (row: CreatedByKey) => row
const FOUND = { ...SHOWN_VERSION, content: 'json' } as const
const LOOKUPS = columns('lookup', 'number int, page_group_id, page_id, before_id, rows_max int')
const DONE = jsonColumns(
  'done',
  `tenant_id, page_id, version_id, attempt int, status, published_at timestamptz, finished_at timestamptz,
    computed_name, failure_reason, claimable_at timestamptz, uncounted int`,
)

export const QUEUED_VERSIONS = {
  table: sql`page_versions v`,
  key: sql`v.tenant_id, v.page_id, v.version_id`,
  isClaimed: sql`v.page_id = claimed.page_id and v.version_id = claimed.version_id`,
  answered: sql`v.tenant_id, v.page_id, v.version_id, v.page_group_id, v.publish, v.publish_at`,
  isHeld: isSuspended,
}

export const citusVersions = (
  query: Query,
  allQuery: Query,
  transact: Transact,
  outbox: Outbox,
  together: Together,
): Omit<Versions, 'claim'> => ({
  list: together.read('versions.list', async (lookups: readonly (RowsQuery & PageKey)[]) => {
    const lists = await slicesByTenant(lookups, (tenantLookups, of) => {
      const rows = sql`
        select l.page_group_id, ${SHOWN.selected} from page_versions l
        where l.tenant_id = ${of.tenantId} and l.page_id = lookup.page_id and l.version_id < lookup.before_id`
      const older = slice(rows, BYTES, sql`l.version_id desc`, sql`lookup.rows_max`)
      return query(of.tenantId)<ListedRow>`
        select lookup.number as lookup, ${SHOWN.selected}
        from ${LOOKUPS.from(tenantLookups)} ${ifGroupExists(of)} cross join lateral ${older}
        where l.page_group_id = lookup.page_group_id
        order by lookup.number, l.version_id desc`
    })
    return lists.map((list) => list.map(storedVersion))
  }),

  find: together.read(
    'versions.find',
    findBy<VersionKey, VersionRow, StoredVersionWithContent>(
      query,
      TABLE,
      `${PAGE}, version_id`,
      FOUND,
      versionWithContent,
      ifGroupExists,
    ),
  ),

  findByKey: together.read(
    'versions.findByKey',
    findBy<VersionByKey, CreatedByKey, CreatedByKey>(
      query,
      TABLE,
      `${PAGE}, idempotency_key`,
      CREATED,
      asCreated,
      ifGroupExists,
    ),
  ),

  tally: async ({ tenantId, pageGroupId, pageId }) => {
    const [tally] = await query(tenantId)<VersionTally>`
      select count(*)::int as count, min(v.version_id) filter (
          where v.status <> 'processing' and v.publish_at is null
            and v.version_id is distinct from p.published_version_id
        ) as oldest_spare
      from page_versions v
        join pages p on p.tenant_id = ${tenantId} and p.page_group_id = ${pageGroupId} and p.page_id = ${pageId}
      where v.tenant_id = ${tenantId} and v.page_group_id = ${pageGroupId} and v.page_id = ${pageId}
        and exists (
          select 1 from page_groups g
          where g.tenant_id = ${tenantId}
            and (case when g.status <> 'deleted' then g.page_group_id end) = ${pageGroupId}
        )`
    return tally ?? { count: 0, oldestSpare: null }
  },

  context: async ({ tenantId, pageGroupId, pageId, versionId }) => {
    const [context] = await query(tenantId)<VersionContext>`
      select g.title as group_title, p.page_number, g.page_context, v.supplementary_context
      from page_versions v join page_groups g on g.tenant_id = ${tenantId} and g.page_group_id = v.page_group_id
        join pages p on p.tenant_id = ${tenantId} and p.page_group_id = v.page_group_id and p.page_id = v.page_id
      where v.tenant_id = ${tenantId} and v.page_group_id = ${pageGroupId} and v.page_id = ${pageId}
        and v.version_id = ${versionId}`
    return context ?? null
  },

  settle: async (tenantId, settlements, events = []) => {
    const saving = transact(tenantId, async (send) => {
      const [rows, users] = await Promise.all([
        settleVersions(send, tenantId, settlements),
        outbox.usersOf(send, events.length > 0 ? [tenantId] : []),
      ])
      const saved = rows.map(({ versionId }) => versionId)
      const added = users.has(tenantId) ? eventsOfSaved(saved, events) : []
      if (added.length > 0) outbox.add(send, added)
      return { saved, hasEvents: added.length > 0 }
    })
    return (await outbox.announce(saving)).saved
  },

  backlog: backlogOf(allQuery, sql`created_at`, WAITING, isSuspended),
})

const WAITING = sql`page_versions where status = 'processing' order by tenant_id, claimable_at`
const BYTES = sql`octet_length(l.supplementary_context)`

/**
 * Locks each page, then its version, and reads both after that: a claim lost in the meantime saves nothing. `ended` has
 * one row for each page: the version that is published, else the newest that is ready. The condition on the status must
 * differ from that of the index of waiting versions, or all waiting versions of a tenant might be read.
 *
 * Locked rows are not compared again: the update would see them as before this statement waited for their locks.
 */
const settleVersions = (send: Send, tenantId: string, settlements: readonly Settlement[]) =>
  send<{ versionId: string }>`
    with locked as materialized (
      select * from (
        select done.*, v.page_group_id, p.published_version_id, p.automatic_after, p.unpublish_at,
          coalesce(done.computed_name, v.computed_name) as name
        from ${DONE.from(settlements.map((settlement) => settledRow(tenantId, settlement)))}
          join page_versions v using (tenant_id, page_id, version_id)
          join pages p using (tenant_id, page_group_id, page_id)
        where v.status not in ('ready', 'published', 'failed') and v.attempts = done.attempt
          and v.tenant_id = ${tenantId} and p.tenant_id = ${tenantId}
        order by v.page_id, v.version_id for update of p, v
      ) locked
    ), saved as materialized (
      select * from (
        select locked.*, max(version_id) filter (where status = 'published') over (partition by page_id) as newest
        from locked
      ) locked
      where status <> 'published'
        or version_id = newest and version_id > greatest(published_version_id, automatic_after, '')
          and (unpublish_at > published_at) is not false
          and exists (
            select 1 from page_groups g
            where g.tenant_id = ${tenantId}
              and (case when g.status <> 'deleted' then g.page_group_id end) = locked.page_group_id
          )
    ), settled as (
      update page_versions v set status = saved.status, published_at = saved.published_at,
        failure_reason = saved.failure_reason, computed_name = saved.name,
        claimable_at = coalesce(saved.claimable_at, v.claimable_at), attempts = v.attempts - saved.uncounted
      from saved
      where v.tenant_id = saved.tenant_id and v.page_id = saved.page_id and v.version_id = saved.version_id
        and v.tenant_id = ${tenantId}
      returning 1
    ), shown as (
      update pages p set revision = p.revision + ended.count,
        updated_at = coalesce(ended.finished_at, p.updated_at), published_version_id = ended.pointer,
        published_at = coalesce(ended.published_at, p.published_at),
        computed_name = case when ended.version_id = coalesce(ended.pointer, p.latest_version_id)
          then ended.name else p.computed_name end
      from (
        select distinct on (page_id) *, (count(*) over (partition by page_id))::int as count,
          case when status = 'published' then version_id else published_version_id end as pointer
        from saved where status <> 'processing'
        order by page_id, published_at is null, finished_at is null, version_id desc
      ) ended
      where p.tenant_id = ended.tenant_id and p.page_group_id = ended.page_group_id
        and p.page_id = ended.page_id and p.tenant_id = ${tenantId}
      returning 1
    )
    select version_id from saved`
