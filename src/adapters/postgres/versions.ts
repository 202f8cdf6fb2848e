import { SLICE_BYTES_MAX } from '../../core/engine/slices.ts'
import type { PageKey } from '../../core/ports/pages.ts'
import type {
  ClaimedVersion,
  CreatedByKey,
  VersionByKey,
  VersionContext,
  VersionKey,
  Versions,
  VersionTally,
} from '../../core/ports/versions.ts'
import type { Backlog, RowsQuery } from '../../core/ports/world.ts'
import {
  SHOWN_VERSION,
  type ShownVersion,
  settledRow,
  storedVersion,
  type VersionRow,
  versionWithContent,
} from '../stores/page-rows.ts'
import type { Together } from '../stores/together.ts'
import { numbered, numberedSlices, rowsOfEach } from './numbered.ts'
import { EVENT, type Events, eventRow, type Outbox } from './outbox.ts'
import { columns, type Query } from './sql.ts'

type Numbered = { readonly number: number }

const LISTED = columns('lookup', 'number int, tenant_id, page_group_id, page_id, before_id, rows_max int')
const FOUND = columns('lookup', 'number int, tenant_id, page_group_id, page_id, version_id')
const BY_KEY = columns('lookup', 'number int, tenant_id, page_group_id, page_id, idempotency_key')
const SHOWN = columns('l', SHOWN_VERSION)
const SETTLEMENT = columns(
  'settlement',
  `tenant_id, page_id, version_id, attempt int, status, published_at timestamptz, finished_at timestamptz,
    computed_name, failure_reason, claimable_at timestamptz, uncounted int`,
)

/**
 * Page groups are looked up by the expression of the index of those that are not deleted. Each look-up of a batch is a
 * `lateral` with a limit: see `postgresPages`.
 */
export const postgresVersions = (
  query: Query,
  { announce, everyEvent }: Outbox,
  together: Together,
): Versions => ({
  list: together.read('versions.list', async (lookups: readonly (RowsQuery & PageKey)[]) => {
    const rows = await query()<ShownVersion & Numbered>`
      select lookup.number, ${SHOWN.selected}
      from ${LISTED.from(numberedSlices(lookups))}
        cross join lateral (
          select 1 from page_groups g
          where g.tenant_id = lookup.tenant_id
            and (case when g.status <> 'deleted' then g.page_group_id end) = lookup.page_group_id
          limit 1
        ) g
        cross join lateral (
          select * from (
            select l.*, sum(octet_length(l.supplementary_context)) over (
              order by l.version_id desc rows between unbounded preceding and 2 preceding
            ) as bytes_before
            from (
              select l.page_group_id, ${SHOWN.selected} from page_versions l
              where l.tenant_id = lookup.tenant_id and l.page_id = lookup.page_id and l.version_id < lookup.before_id
              order by l.version_id desc limit lookup.rows_max
            ) l
          ) l
          where coalesce(l.bytes_before, 0) <= ${SLICE_BYTES_MAX}
        ) l
      where l.page_group_id = lookup.page_group_id
      order by lookup.number, l.version_id desc`
    return rowsOfEach(lookups, rows).map((list) => list.map(storedVersion))
  }),

  find: together.read('versions.find', async (lookups: readonly VersionKey[]) => {
    const rows = await query()<VersionRow & Numbered>`
      select lookup.number, ${SHOWN.selected}, l.content::text as content
      from ${FOUND.from(numbered(lookups))}
        cross join lateral (
          select 1 from page_groups g
          where g.tenant_id = lookup.tenant_id
            and (case when g.status <> 'deleted' then g.page_group_id end) = lookup.page_group_id
          limit 1
        ) g
        cross join lateral (
          select * from page_versions l
          where l.tenant_id = lookup.tenant_id and l.page_group_id = lookup.page_group_id and l.page_id = lookup.page_id
            and l.version_id = lookup.version_id
          limit 1
        ) l`
    return rowsOfEach(lookups, rows).map(([row]) => (row === undefined ? null : versionWithContent(row)))
  }),

  findByKey: together.read('versions.findByKey', async (lookups: readonly VersionByKey[]) => {
    const rows = await query()<CreatedByKey & Numbered>`
      select lookup.number, l.version_id, l.version_number, l.created_at, l.request_hash
      from ${BY_KEY.from(numbered(lookups))}
        cross join lateral (
          select 1 from page_groups g
          where g.tenant_id = lookup.tenant_id
            and (case when g.status <> 'deleted' then g.page_group_id end) = lookup.page_group_id
          limit 1
        ) g
        cross join lateral (
          select * from page_versions l
          where l.tenant_id = lookup.tenant_id and l.page_group_id = lookup.page_group_id and l.page_id = lookup.page_id
            and l.idempotency_key = lookup.idempotency_key
          limit 1
        ) l`
    return rowsOfEach(lookups, rows).map(([row]) => row ?? null)
  }),

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

  /**
   * Goes from tenant to tenant along the index of waiting versions, and stops at `max`: it reads no more than it takes,
   * however long the backlog. It takes the due versions of a tenant, then those that a wrong clock leased beyond the
   * horizon. Versions that another claim has locked are skipped, so that publishers never wait for each other nor
   * return without work despite a backlog.
   */
  claim: ({ now, until, horizon, afterTenantId, max }) =>
    query()<ClaimedVersion>`
      with recursive waiting (tenant_id) as (
        (
          select v.tenant_id from page_versions v
          where v.status = 'processing' and v.tenant_id > ${afterTenantId}
          order by v.tenant_id limit 1
        )
        union all
        select (
          select v.tenant_id from page_versions v
          where v.status = 'processing' and v.tenant_id > waiting.tenant_id
          order by v.tenant_id limit 1
        )
        from waiting where waiting.tenant_id is not null
      ), claimed as (
        select due.*
        from waiting
          cross join (values ('-infinity', ${now}::timestamptz), (${horizon}::timestamptz, 'infinity'))
            as span (after, until)
          cross join lateral (
            select v.tenant_id, v.page_id, v.version_id from page_versions v
            where v.status = 'processing' and v.tenant_id = waiting.tenant_id
              and v.claimable_at > span.after and v.claimable_at <= span.until
            order by v.claimable_at limit ${max} for update skip locked
          ) as due
        where not exists (
          select 1 from tenants t where t.tenant_id = waiting.tenant_id and t.suspended_at is not null
        )
        limit ${max}
      )
      update page_versions v set claimable_at = ${until}, attempts = v.attempts + 1
      from claimed
      where v.tenant_id = claimed.tenant_id and v.page_id = claimed.page_id and v.version_id = claimed.version_id
      returning v.tenant_id, v.page_group_id, v.page_id, v.version_id, v.attempts as attempt, v.publish, v.publish_at`,

  context: async ({ tenantId, pageGroupId, pageId, versionId }) => {
    const [context] = await query(tenantId)<VersionContext>`
      select g.title as group_title, p.page_number, g.page_context, v.supplementary_context
      from page_versions v
        join page_groups g on g.tenant_id = ${tenantId} and g.page_group_id = v.page_group_id
        join pages p on p.tenant_id = ${tenantId} and p.page_group_id = v.page_group_id and p.page_id = v.page_id
      where v.tenant_id = ${tenantId} and v.page_group_id = ${pageGroupId} and v.page_id = ${pageId}
        and v.version_id = ${versionId}`
    return context ?? null
  },

  /**
   * Locked rows are not compared again: the update would see them as before this statement waited for their locks.
   *
   * Without `is true` the planner may join the events to the versions, and parse each event for each version. A scalar
   * subquery reads the endpoints of one tenant; for `exists` the planner may collect those of all tenants.
   */
  settle: async (tenantId, settlements, events = []) => {
    const rows = await announce(
      query()<Events & { readonly versionId: string }>`
        -- Locks each page, then its version, and reads both after that: a claim lost in the meantime saves nothing. The
        -- condition on the status must differ from that of the index of waiting versions, or all waiting versions of a
        -- tenant might be read.
        with locked as materialized (
          select * from (
            select settlement.*, v.page_group_id, p.published_version_id, p.automatic_after, p.unpublish_at,
              coalesce(settlement.computed_name, v.computed_name) as name
            from ${SETTLEMENT.fromAny(settlements.map((settlement) => settledRow(tenantId, settlement)))}
              join page_versions v using (tenant_id, page_id, version_id)
              join pages p using (tenant_id, page_group_id, page_id)
            where v.status not in ('ready', 'published', 'failed') and v.attempts = settlement.attempt
            order by v.page_id, v.version_id for update of p, v
          ) locked
        ),
        -- Only the newest version of a page is published, and only if no newer one is published already, and it was not
        -- to be unpublished before, nor its group deleted.
        saved as materialized (
          select * from (
            select locked.*,
              max(version_id) filter (where status = 'published') over (partition by page_id) as newest
            from locked
          ) locked
          where status <> 'published'
            or version_id = newest and version_id > greatest(published_version_id, automatic_after, '')
              and (unpublish_at > published_at) is not false
              and (
                select true from page_groups g
                where g.tenant_id = locked.tenant_id
                  and (case when g.status <> 'deleted' then g.page_group_id end) = locked.page_group_id
                limit 1
              )
        ),
        -- An attempt that does not count is taken back.
        settled as (
          update page_versions v set status = saved.status, published_at = saved.published_at,
            failure_reason = saved.failure_reason, computed_name = saved.name,
            claimable_at = coalesce(saved.claimable_at, v.claimable_at), attempts = v.attempts - saved.uncounted
          from saved
          where v.tenant_id = saved.tenant_id and v.page_id = saved.page_id and v.version_id = saved.version_id
        ),
        -- For each page, by the version that is published, or else the newest that is ready.
        shown as (
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
          where p.tenant_id = ended.tenant_id and p.page_group_id = ended.page_group_id and p.page_id = ended.page_id
        ),
        -- A tenant without an enabled endpoint needs no events, unless every tenant has them.
        new_events as (
          insert into events (${EVENT.names})
          select ${EVENT.values} from ${EVENT.fromAny(events.map(eventRow))}
          where (event.ids::json ->> 'versionId' in (select version_id from saved)) is true
            and (${everyEvent} or (
              select true from webhook_endpoints w
              where w.tenant_id = event.tenant_id and w.status = 'enabled' limit 1
            ))
          returning 1
        )
        select version_id, (select count(*)::int from new_events) as events from saved`,
    )
    return rows.map(({ versionId }) => versionId)
  },

  backlog: async (countMax) => {
    const [backlog] = await query()<Backlog>`
      select count(*)::int as count, min(waiting.created_at) as oldest
      from (
        select v.tenant_id, v.created_at from page_versions v
        where v.status = 'processing' order by v.tenant_id, v.claimable_at limit ${countMax}
      ) as waiting
      where not exists (
        select 1 from tenants t where t.tenant_id = waiting.tenant_id and t.suspended_at is not null
      )`
    return backlog ?? { count: 0, oldest: null }
  },
})
