import type { Sql } from '../../src/adapters/postgres/open.ts'
import { timelineKey } from '../../src/adapters/stores/timeline-key.ts'
import type { IdPrefix } from '../../src/core/ports/world.ts'
import type { VersionStatus } from '../../src/shapes/page.ts'
import type { PageGroupStatus } from '../../src/shapes/page-group.ts'
import { at } from './rows.ts'

/** Tables that grow with use; page groups are fewer, but a tenant may have thousands. */
export const GROWING = [
  'prospects',
  'identifiers',
  'former_identifiers',
  'prospect_conflicts',
  'prospect_logs',
  'page_groups',
  'page_counts',
  'pages',
  'page_versions',
  'erasures',
  'events',
  'webhook_deliveries',
]

export type Wanted = {
  readonly tenantId: string
  readonly strangerId: string
  /** Three page groups: of a few old pages, of very many newer ones, of none. */
  readonly small: string
  readonly big: string
  readonly empty: string
}

export const idAt = (prefix: IdPrefix, number: number): string =>
  `${prefix}_${String(number).padStart(26, '0')}`
export const PAGE = idAt('page', 7)
export const TABLE_ROWS = 60_000
/** Versions that wait for a publisher. */
const WAITING = 3_000
export const FIRST_WAITING = 31_001
/** A prospect with very many activities. */
export const BUSY = idAt('prospect', 40)
export const MERGE = { mergeId: idAt('merge', 1), prospectId: BUSY, intoId: idAt('prospect', 39) }
/** People are indexed for the search up to this one. */
export const INDEXED_TO = idAt('prospect', 700)
/** Events that wait for their numbers. */
const UNNUMBERED = 500
const LAST_EVENT = 20_000

const OURS = 'tenant_ours'
const THEIRS = 'tenant_theirs'
export const WANTED: Wanted = {
  tenantId: OURS,
  strangerId: THEIRS,
  small: idAt('pagegroup', 1),
  big: idAt('pagegroup', 2),
  empty: idAt('pagegroup', 3),
}

/**
 * Skewed on purpose, `early` being run while it is nearly empty: of our groups the newest thousands are deleted; another tenant's many groups, prospects and logs
 * and another group's 30,000 pages are newer than ours; a few thousand versions wait.
 */
export const fill = async (sql: Sql, early: string): Promise<void> => {
  for (const tenant of [OURS, THEIRS]) {
    await sql.unsafe(`insert into tenants (tenant_id, name, created_at) values ('${tenant}', 'Acme', now())`)
    await sql.unsafe(
      `insert into brands (tenant_id, brand_id, name, created_at)
       values ('${tenant}', 'brand_${tenant}', 'Acme', now())`,
    )
  }
  const { small, big } = WANTED
  await groups(sql, OURS, 1, 60, 'active')
  await pagesOf(sql, OURS, small, 1, 50, 'published')
  await people(sql, OURS, 1, 50)
  await sql.unsafe(early)
  await groups(sql, OURS, 1_000, 6_000, 'deleted')
  await groups(sql, OURS, 6_001, 6_030, 'archived')
  await groups(sql, THEIRS, 10_000, 30_000, 'active')
  await pagesOf(sql, OURS, big, 1_000, 31_000, 'published')
  await pagesOf(sql, OURS, big, FIRST_WAITING, FIRST_WAITING + WAITING - 1, 'processing')
  await pagesOf(sql, THEIRS, idAt('pagegroup', 10_000), 40_000, 60_000, 'published')
  await people(sql, OURS, 51, 20_000)
  await logsOf(sql, OURS, BUSY, 60_001, 90_000)
  await people(sql, THEIRS, 20_001, 40_000)
  await sql.unsafe(`
    insert into merges (tenant_id, merge_id, prospect_id, into_id, status, requested_at, pass, attempts, claimable_at)
    values ('${OURS}', '${MERGE.mergeId}', '${BUSY}', '${MERGE.intoId}', 'processing', now(), 1, 0, now())`)
  for (const [tenant, from, to] of [
    [OURS, 1, 20_000],
    [THEIRS, 20_001, 40_000],
  ] as const)
    await sql.unsafe(`
      insert into erasures (tenant_id, erasure_id, prospect_id, status, requested_at, completed_at, logs_erased,
        pass, position, attempts, claimable_at)
      select '${tenant}', ${ID('erasure')}, ${ID('prospect')},
        case when n % 10 = 0 then 'processing' else 'completed' end, now(), case when n % 10 > 0 then now() end, 0,
        1, '', 0, timestamptz '2025-01-01Z' + n * interval '1 ms'
      from generate_series(${from}, ${to}) n;
      insert into identifiers (tenant_id, kind, hash, blocked_until, erasure_id)
      select '${tenant}', 'email', 'blocked' || lpad(n::text, 36, '0'),
        timestamptz '2025-01-01Z' + n * interval '1 ms', ${ID('erasure')}
      from generate_series(${from}, ${to}) n`)
  for (const tenant of [OURS, THEIRS]) await eventsOf(sql, tenant)
}

/** No autovacuum: only the test changes what the planner knows. */
export const keepStatistics = async (sql: Sql): Promise<void> => {
  for (const table of GROWING) await sql.unsafe(`alter table ${table} set (autovacuum_enabled = false)`)
}

/** As if the tables had never been analyzed. */
export const forgetStatistics = async (sql: Sql): Promise<void> => {
  await sql`delete from pg_statistic where starelid in (select oid from pg_class where relname in ${sql(GROWING)})`
  await sql`update pg_class set reltuples = -1, relpages = 0 where relname in ${sql(GROWING)}`
}

/** `idAt` in SQL, of `n`. */
const ID = (prefix: IdPrefix): string => `'${prefix}_' || lpad(n::text, 26, '0')`

const groups = async (sql: Sql, tenant: string, from: number, to: number, status: PageGroupStatus) => {
  await sql.unsafe(`
    insert into page_groups (tenant_id, page_group_id, brand_id, name, title, status, actions, footer_links, scripts,
      revision, idempotency_key, request_hash, created_at, updated_at, deleted_at)
    select '${tenant}', ${ID('pagegroup')}, 'brand_${tenant}', 'offers', 'Offers', '${status}', '[]', '[]', '[]',
      1, 'key ' || n, 'hash', now(), now(), ${status === 'deleted' ? 'now()' : 'null'}
    from generate_series(${from}, ${to}) n`)
  await sql.unsafe(`
    insert into page_counts (tenant_id, page_group_id, pages_count, changes)
    select '${tenant}', ${ID('pagegroup')}, 1, 1 from generate_series(${from}, ${to}) n`)
}

const pagesOf = async (
  sql: Sql,
  tenant: string,
  group: string,
  from: number,
  to: number,
  status: VersionStatus,
) => {
  const publishes = status === 'published'
  await sql.unsafe(`
    insert into pages (tenant_id, page_group_id, page_id, computed_name, published_version_id, published_at, latest_version_id,
      revision, idempotency_key, request_hash, created_at, updated_at)
    select '${tenant}', '${group}', ${ID('page')}, 'Name', ${publishes ? ID('pageversion') : 'null'},
      ${publishes ? "timestamptz '2025-01-01Z' + n * interval '1 ms'" : 'null'}, ${ID('pageversion')}, 1, 'key ' || n, 'hash', now(), now()
    from generate_series(${from}, ${to}) n`)
  await sql.unsafe(`
    insert into page_versions (tenant_id, page_id, version_id, page_group_id, version_number, supplementary_context,
      computed_name, status, published_at, publish, attempts, claimable_at, idempotency_key, request_hash, created_at)
    select '${tenant}', ${ID('page')}, ${ID('pageversion')}, '${group}', 1, 'Context',
      'Name', '${status}', ${publishes ? "timestamptz '2025-01-01Z' + n * interval '1 ms'" : 'null'}, true, 0, timestamptz '2025-01-01Z' + n * interval '1 ms',
      'key ' || n, 'hash', now()
    from generate_series(${from}, ${to}) n`)
}

/** Events, the last of them without numbers, and their deliveries to three endpoints, some of which are pending. */
const eventsOf = async (sql: Sql, tenant: string) => {
  const last = LAST_EVENT - UNNUMBERED
  await sql.unsafe(`
    insert into events (tenant_id, event_id, sequence, type, ids, api_key_id, created_at)
    select '${tenant}', ${ID('event')}, case when n <= ${last} then n end, 'page.created', '{"pageId":"page"}', null, now()
    from generate_series(1, ${LAST_EVENT}) n;
    insert into event_counts (tenant_id, sequence) values ('${tenant}', ${last})
    on conflict (tenant_id) do update set sequence = excluded.sequence;
    insert into webhook_endpoints (tenant_id, webhook_endpoint_id, url, status, secret, failures, slot, claims, claimable_at,
      created_at, updated_at)
    select '${tenant}', ${ID('webhookendpoint')}, 'https://example.com', 'enabled', 'sealed', 0, n, 0, now(), now(), now()
    from generate_series(1, 3) n;
    insert into webhook_deliveries (tenant_id, webhook_endpoint_id, event_id, status, attempts, next_attempt_at, created_at)
    select '${tenant}', w.webhook_endpoint_id, ${ID('event')}, case when n % 10 = 0 then 'pending' else 'delivered' end,
      0, case when n % 10 = 0 then timestamptz '2025-01-01Z' + n * interval '1 ms' end, now()
    from generate_series(1, ${last}) n, webhook_endpoints w where w.tenant_id = '${tenant}'`)
}

/** Activities of one prospect, two in each step of its timeline; the newer the later. */
const logsOf = async (sql: Sql, tenant: string, prospect: string, from: number, to: number) => {
  const key = timelineKey(prospect, at(0))
  await sql.unsafe(`
    insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, created_prospect,
      occurred_at, timeline_key, created_at)
    select '${tenant}', ${ID('prospectlog')}, '${prospect}', 'crm', 'webhook', '{"a":1}', false,
      timestamptz '${at(0)}' - (${to} - n) * interval '2 s', ${key} - (${to} - n + 1) / 2, now()
    from generate_series(${from}, ${to}) n`)
}

/** Prospects, each with an email, an external id and a former email, and a log with an idempotency key. */
const people = async (sql: Sql, tenant: string, from: number, to: number) => {
  await sql.unsafe(`
    insert into searched_tenants (tenant_id, position, searched_at)
    values ('${tenant}', '${INDEXED_TO}', '${at(0)}') on conflict do nothing;
    insert into prospects (tenant_id, prospect_id, email, created_at, updated_at, is_searched)
    select '${tenant}', ${ID('prospect')}, 'email', '${at(0)}', '${at(0)}', n % 10 <> 0 from generate_series(${from}, ${to}) n;
    insert into identifiers (tenant_id, kind, hash, value, prospect_id)
    select '${tenant}', kind, lpad(n::text, 43, '0'), 'email', ${ID('prospect')}
    from generate_series(${from}, ${to}) n, (values ('email'), ('externalId')) kinds (kind);
    insert into prospect_conflicts (tenant_id, prospect_id, other_id, field, at)
    select '${tenant}', ${ID('prospect')}, replace(${ID('prospect')}, 'prospect_0', 'prospect_1'), 'email', timestamptz '${at(0)}' + n * interval '1 s'
    from generate_series(${from}, ${to}) n;
    insert into former_identifiers (tenant_id, prospect_id, kind, hash, value, released_at)
    select '${tenant}', ${ID('prospect')}, 'email', 'former' || lpad((n % 5000)::text, 37, '0'), 'former', '${at(0)}'
    from generate_series(${from}, ${to}) n where n <> 20`)
  await sql.unsafe(`
    insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, idempotency_key,
      request_hash, created_prospect, occurred_at, timeline_key, created_at)
    select '${tenant}', ${ID('prospectlog')}, ${ID('prospect')}, 'crm', 'webhook', '{"a":1}', 'key ' || n, 'hash', true,
      now(), n, now()
    from generate_series(${from}, ${to}) n`)
}
