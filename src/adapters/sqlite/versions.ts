import { SLICE_BYTES_MAX } from '../../core/engine/slices.ts'
import type { ClaimedVersion, CreatedByKey, Versions, VersionTally } from '../../core/ports/versions.ts'
import {
  SHOWN_VERSION,
  type ShownVersion,
  settledRow,
  storedVersion,
  type VersionRow,
  versionWithContent,
} from '../stores/page-rows.ts'
import { eventsOfSaved } from '../stores/rows.ts'
import { backlogBy, claimFrom } from './claim.ts'
import type { Database } from './open.ts'
import type { Outbox } from './outbox.ts'
import { BEFORE_ID, type Values } from './statements.ts'
import { isSuspended } from './tenants.ts'

const SHOWN = Object.keys(SHOWN_VERSION)
const PAGE_EXISTS = `
  select 1 from pages p join page_groups g on g.tenant_id = p.tenant_id and g.page_group_id = p.page_group_id
  where p.tenant_id = :tenantId and p.page_group_id = :pageGroupId and p.page_id = :pageId
    and g.status <> 'deleted'`
const LIST = `
  select ${SHOWN} from page_versions
  where tenant_id = :tenantId and page_id = :pageId and version_id < ${BEFORE_ID}
  order by version_id desc`
export const VERSION = `
  select ${SHOWN} from page_versions
  where tenant_id = :tenantId and page_id = :pageId and version_id = :versionId`
export const WITH_CONTENT = `
  select ${SHOWN}, content from page_versions
  where tenant_id = :tenantId and page_id = :pageId and version_id = :versionId`
const BY_KEY = `
  select version_id, version_number, created_at, request_hash from page_versions
  where tenant_id = :tenantId and page_id = :pageId and idempotency_key = :idempotencyKey`
const TALLY = `
  select count(*) as count, min(iif(
    v.status <> 'processing' and v.publish_at is null and v.version_id is not p.published_version_id, v.version_id, null
  )) as oldest_spare
  from page_versions v
    join pages p on p.tenant_id = v.tenant_id and p.page_group_id = v.page_group_id and p.page_id = v.page_id
  where v.tenant_id = :tenantId and v.page_id = :pageId and p.page_group_id = :pageGroupId`
const CONTEXT = `
  select g.title as group_title, p.page_number, g.page_context, v.supplementary_context
  from page_versions v join page_groups g on g.tenant_id = v.tenant_id and g.page_group_id = v.page_group_id
    join pages p on p.tenant_id = v.tenant_id and p.page_group_id = v.page_group_id and p.page_id = v.page_id
  where v.tenant_id = :tenantId and v.page_id = :pageId and v.version_id = :versionId`
const CLAIMED = `
  select page_group_id, coalesce(:computedName, computed_name) as computed_name
  from page_versions
  where tenant_id = :tenantId and page_id = :pageId and version_id = :versionId
    and status = 'processing' and attempts = :attempt`
/** Updates the page of a version that ended. Updates no row if the version must not be published any more. */
const UPDATE_PAGE = `
  update pages set revision = revision + 1, updated_at = coalesce(:finishedAt, updated_at),
    computed_name = iif(
      :publishedAt is not null or (published_version_id is null and latest_version_id = :versionId),
      :computedName, computed_name),
    published_version_id = iif(:publishedAt is null, published_version_id, :versionId),
    published_at = coalesce(:publishedAt, published_at)
  where tenant_id = :tenantId and page_group_id = :pageGroupId and page_id = :pageId
    and (:publishedAt is null or (
      max(coalesce(published_version_id, ''), coalesce(automatic_after, '')) < :versionId
      and (unpublish_at is null or unpublish_at > :publishedAt)
      and exists (
        select 1 from page_groups g
        where g.tenant_id = :tenantId and g.page_group_id = :pageGroupId and g.status <> 'deleted'
      )
    ))`
const UPDATE_VERSION = `
  update page_versions set status = :status, published_at = :publishedAt, failure_reason = :failureReason,
    computed_name = :computedName, claimable_at = coalesce(:claimableAt, claimable_at),
    attempts = attempts - :uncounted
  where tenant_id = :tenantId and page_id = :pageId and version_id = :versionId`

/** From one tenant to the next along the index of waiting rows. */
const DUE_TENANTS = `
  with recursive walk (tenant_id) as (
    select min(tenant_id) from page_versions where status = 'processing' and tenant_id > :afterTenantId
    union all
    select (
      select min(w.tenant_id) from page_versions w where w.status = 'processing' and w.tenant_id > walk.tenant_id
    )
    from walk where tenant_id is not null
  )
  select tenant_id from walk
  where (
    (select min(w.claimable_at) from page_versions w where w.status = 'processing' and w.tenant_id = walk.tenant_id) <= :now
    or (select max(w.claimable_at) from page_versions w where w.status = 'processing' and w.tenant_id = walk.tenant_id) > :horizon
  )
    and not ${isSuspended('walk')}
  limit :max`
/** Claims the first version, and more while those before them fill no slice. */
const CLAIM = `
  update page_versions set claimable_at = :until, attempts = attempts + 1
  where (tenant_id, page_id, version_id) in (
    select tenant_id, page_id, version_id from (
      select *, sum(bytes) over (order by claimable_at rows between unbounded preceding and 1 preceding) as bytes_before
      from (
        select tenant_id, page_id, version_id, claimable_at,
          coalesce(octet_length(content), 0) + coalesce(octet_length(supplementary_context), 0) as bytes
        from page_versions
        where status = 'processing' and tenant_id = :tenantId and claimable_at > :after and claimable_at <= :last
        order by claimable_at limit :max
      )
    )
    where coalesce(bytes_before, 0) <= ${SLICE_BYTES_MAX}
  )
  returning tenant_id, page_id, version_id, page_group_id, publish, publish_at, attempts as attempt,
    coalesce(octet_length(content), 0) + coalesce(octet_length(supplementary_context), 0) as bytes`
const BACKLOG = `
  select count(*) as count, min(created_at) as oldest
  from (
    select tenant_id, created_at from page_versions where status = 'processing'
    order by tenant_id, claimable_at limit :countMax
  ) waiting
  where not ${isSuspended('waiting')}`

export const sqliteVersions = (database: Database, outbox: Outbox): Versions => {
  const claim = claimFrom<ClaimedVersion>(database, { dueTenants: DUE_TENANTS, claim: CLAIM })
  const find = <Row>(version: string, lookup: Values) =>
    database.has(PAGE_EXISTS, lookup) ? database.get<Row>(version, lookup) : null
  return {
    list: async (lookup) =>
      database.has(PAGE_EXISTS, lookup) ? database.slice<ShownVersion>(LIST, lookup).map(storedVersion) : [],
    find: async (lookup) => {
      const row = find<VersionRow>(WITH_CONTENT, lookup)
      return row && versionWithContent(row)
    },
    findByKey: async (lookup) => find<CreatedByKey>(BY_KEY, lookup),
    tally: async (lookup) => find<VersionTally>(TALLY, lookup) ?? { count: 0, oldestSpare: null },

    claim: async (lookup) => (await claim(lookup)).map((row) => ({ ...row, publish: Boolean(row.publish) })),

    context: async (version) => database.get(CONTEXT, version),

    // Newest first: if a page has several, only the newest is published.
    settle: (tenantId, settlements, events) =>
      database.write(() => {
        const saved: string[] = []
        for (const settlement of settlements.toSorted((a, b) => (a.versionId < b.versionId ? 1 : -1))) {
          const row = settledRow(tenantId, settlement)
          const claimed = database.get<Values>(CLAIMED, row)
          if (claimed === null) continue
          const settled = { ...row, ...claimed }
          const isOver = settlement.status !== 'processing'
          if (isOver && database.run(UPDATE_PAGE, settled) === 0) continue
          database.run(UPDATE_VERSION, settled)
          saved.push(settlement.versionId)
        }
        outbox.add(eventsOfSaved(saved, events))
        return saved
      }),

    backlog: backlogBy(database, BACKLOG),
  }
}
