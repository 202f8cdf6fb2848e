import type postgres from 'postgres'
import type { Table } from '../move.ts'
import type { Sql } from './connect.ts'

type Counted = PromiseLike<readonly { rows: number }[]>
type Statements = {
  readonly count: (sql: Sql) => Counted
  /** `rows` is a JSON array of them. */
  readonly add: (sql: Sql, rows: string) => PromiseLike<unknown>
  readonly equal: (sql: Sql, rows: string) => Counted
}
type Count = { rows: number }[]
type Fragment = postgres.PendingQuery<postgres.Row[]>

/** What `move` asks of each table. Rows arrive as SQLite holds them: JSON and times as text, truth as 0 or 1. */
export const moveStatements: Readonly<Record<Table, Statements>> = {
  tenants: {
    count: (sql) => sql<Count>`select count(*)::int as rows from tenants`,
    add: (sql, rows) => sql`
      insert into tenants (tenant_id, name, created_at)
      select tenant_id, name, created_at
      from ${sentTenants(sql, rows)} on conflict do nothing`,
    equal: (sql, rows) => sql<Count>`
      select count(*)::int as rows from tenants t
        join ${sentTenants(sql, rows)} using (tenant_id)
      where (t.name, t.created_at)
        is not distinct from (r.name, r.created_at)`,
  },
  brands: {
    count: (sql) => sql<Count>`select count(*)::int as rows from brands`,
    add: (sql, rows) => sql`
      insert into brands (tenant_id, brand_id, name, created_at)
      select tenant_id, brand_id, name, created_at
      from ${sentBrands(sql, rows)} on conflict do nothing`,
    equal: (sql, rows) => sql<Count>`
      select count(*)::int as rows from brands t
        join ${sentBrands(sql, rows)} using (tenant_id, brand_id)
      where (t.name, t.created_at)
        is not distinct from (r.name, r.created_at)`,
  },
  api_keys: {
    count: (sql) => sql<Count>`select count(*)::int as rows from api_keys`,
    add: (sql, rows) => sql`
      insert into api_keys (api_key_id, tenant_id, key_hash, start, name, scopes, created_at, expires_at, revoked_at,
        last_used_at)
      select api_key_id, tenant_id, key_hash, start, name, string_to_array(scopes, ' '), created_at,
        expires_at, revoked_at, last_used_at
      from ${sentApiKeys(sql, rows)} on conflict do nothing`,
    equal: (sql, rows) => sql<Count>`
      select count(*)::int as rows from api_keys t
        join ${sentApiKeys(sql, rows)} using (api_key_id)
      where (t.tenant_id, t.key_hash, t.start, t.name, t.scopes, t.created_at, t.expires_at,
        t.revoked_at, t.last_used_at)
        is not distinct from (r.tenant_id, r.key_hash, r.start, r.name, string_to_array(r.scopes, ' '), r.created_at,
          r.expires_at, r.revoked_at, r.last_used_at)`,
  },
  prospects: {
    count: (sql) => sql<Count>`select count(*)::int as rows from prospects`,
    add: (sql, rows) => sql`
      insert into prospects (tenant_id, prospect_id, email, email_hash, name, created_at)
      select tenant_id, prospect_id, email, email_hash, name, created_at
      from ${sentProspects(sql, rows)} on conflict do nothing`,
    equal: (sql, rows) => sql<Count>`
      select count(*)::int as rows from prospects t
        join ${sentProspects(sql, rows)} using (tenant_id, prospect_id)
      where (t.email, t.email_hash, t.name, t.created_at)
        is not distinct from (r.email, r.email_hash, r.name, r.created_at)`,
  },
  prospect_logs: {
    count: (sql) => sql<Count>`select count(*)::int as rows from prospect_logs`,
    add: (sql, rows) => sql`
      insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, email, name,
        idempotency_key, request_hash, created_prospect, created_at)
      select tenant_id, prospect_log_id, prospect_id, source, type, payload::json, email, name,
        idempotency_key, request_hash, created_prospect::boolean, created_at
      from ${sentProspectLogs(sql, rows)} on conflict do nothing`,
    equal: (sql, rows) => sql<Count>`
      select count(*)::int as rows from prospect_logs t
        join ${sentProspectLogs(sql, rows)} using (tenant_id, prospect_log_id)
      where (t.prospect_id, t.source, t.type, t.payload::text, t.email, t.name, t.idempotency_key,
        t.request_hash, t.created_prospect, t.created_at)
        is not distinct from (r.prospect_id, r.source, r.type, r.payload, r.email, r.name, r.idempotency_key,
          r.request_hash, r.created_prospect::boolean, r.created_at)`,
  },
  page_groups: {
    count: (sql) => sql<Count>`select count(*)::int as rows from page_groups`,
    add: (sql, rows) => sql`
      insert into page_groups (tenant_id, page_group_id, brand_id, name, title, page_context, status, actions,
        footer_links, scripts, header_action_id, created_at, updated_at, deleted_at)
      select tenant_id, page_group_id, brand_id, name, title, page_context, status, actions::json,
        footer_links::json, scripts::json, header_action_id, created_at, updated_at, deleted_at
      from ${sentPageGroups(sql, rows)} on conflict do nothing`,
    equal: (sql, rows) => sql<Count>`
      select count(*)::int as rows from page_groups t
        join ${sentPageGroups(sql, rows)} using (tenant_id, page_group_id)
      where (t.brand_id, t.name, t.title, t.page_context, t.status, t.actions::text,
        t.footer_links::text, t.scripts::text, t.header_action_id, t.created_at, t.updated_at,
        t.deleted_at)
        is not distinct from (r.brand_id, r.name, r.title, r.page_context, r.status, r.actions, r.footer_links,
          r.scripts, r.header_action_id, r.created_at, r.updated_at, r.deleted_at)`,
  },
  page_counts: {
    count: (sql) => sql<Count>`select count(*)::int as rows from page_counts`,
    add: (sql, rows) => sql`
      insert into page_counts (tenant_id, page_group_id, pages_count)
      select tenant_id, page_group_id, pages_count
      from ${sentPageCounts(sql, rows)} on conflict do nothing`,
    equal: (sql, rows) => sql<Count>`
      select count(*)::int as rows from page_counts t
        join ${sentPageCounts(sql, rows)} using (tenant_id, page_group_id)
      where (t.pages_count)
        is not distinct from (r.pages_count)`,
  },
  pages: {
    count: (sql) => sql<Count>`select count(*)::int as rows from pages`,
    add: (sql, rows) => sql`
      insert into pages (tenant_id, page_group_id, page_id, custom_name, computed_name, supplementary_context,
        published_version_id, latest_version_id, idempotency_key, request_hash, created_at,
        updated_at)
      select tenant_id, page_group_id, page_id, custom_name, computed_name, supplementary_context,
        published_version_id, latest_version_id, idempotency_key, request_hash, created_at,
        updated_at
      from ${sentPages(sql, rows)} on conflict do nothing`,
    equal: (sql, rows) => sql<Count>`
      select count(*)::int as rows from pages t
        join ${sentPages(sql, rows)} using (tenant_id, page_group_id, page_id)
      where (t.custom_name, t.computed_name, t.supplementary_context, t.published_version_id,
        t.latest_version_id, t.idempotency_key, t.request_hash, t.created_at, t.updated_at)
        is not distinct from (r.custom_name, r.computed_name, r.supplementary_context, r.published_version_id,
          r.latest_version_id, r.idempotency_key, r.request_hash, r.created_at, r.updated_at)`,
  },
  page_versions: {
    count: (sql) => sql<Count>`select count(*)::int as rows from page_versions`,
    add: (sql, rows) => sql`
      insert into page_versions (tenant_id, page_id, version_id, page_group_id, version_number, status, published_at,
        failure_reason, attempts, claimable_at, created_at)
      select tenant_id, page_id, version_id, page_group_id, version_number, status, published_at,
        failure_reason, attempts, claimable_at, created_at
      from ${sentPageVersions(sql, rows)} on conflict do nothing`,
    equal: (sql, rows) => sql<Count>`
      select count(*)::int as rows from page_versions t
        join ${sentPageVersions(sql, rows)} using (tenant_id, page_id, version_id)
      where (t.page_group_id, t.version_number, t.status, t.published_at, t.failure_reason, t.attempts,
        t.claimable_at, t.created_at)
        is not distinct from (r.page_group_id, r.version_number, r.status, r.published_at, r.failure_reason, r.attempts,
          r.claimable_at, r.created_at)`,
  },
}

const sentTenants = (sql: Sql, rows: string): Fragment => sql`
  json_to_recordset(${rows}::text::json) as r (
    tenant_id text, name text, created_at timestamptz)`

const sentBrands = (sql: Sql, rows: string): Fragment => sql`
  json_to_recordset(${rows}::text::json) as r (
    tenant_id text, brand_id text, name text, created_at timestamptz)`

const sentApiKeys = (sql: Sql, rows: string): Fragment => sql`
  json_to_recordset(${rows}::text::json) as r (
    api_key_id text, tenant_id text, key_hash text, start text, name text, scopes text,
    created_at timestamptz, expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz)`

const sentProspects = (sql: Sql, rows: string): Fragment => sql`
  json_to_recordset(${rows}::text::json) as r (
    tenant_id text, prospect_id text, email text, email_hash text, name text, created_at timestamptz)`

const sentProspectLogs = (sql: Sql, rows: string): Fragment => sql`
  json_to_recordset(${rows}::text::json) as r (
    tenant_id text, prospect_log_id text, prospect_id text, source text, type text, payload text,
    email text, name text, idempotency_key text, request_hash text, created_prospect int,
    created_at timestamptz)`

const sentPageGroups = (sql: Sql, rows: string): Fragment => sql`
  json_to_recordset(${rows}::text::json) as r (
    tenant_id text, page_group_id text, brand_id text, name text, title text, page_context text,
    status text, actions text, footer_links text, scripts text, header_action_id text,
    created_at timestamptz, updated_at timestamptz, deleted_at timestamptz)`

const sentPageCounts = (sql: Sql, rows: string): Fragment => sql`
  json_to_recordset(${rows}::text::json) as r (
    tenant_id text, page_group_id text, pages_count bigint)`

const sentPages = (sql: Sql, rows: string): Fragment => sql`
  json_to_recordset(${rows}::text::json) as r (
    tenant_id text, page_group_id text, page_id text, custom_name text, computed_name text,
    supplementary_context text, published_version_id text, latest_version_id text, idempotency_key text,
    request_hash text, created_at timestamptz, updated_at timestamptz)`

const sentPageVersions = (sql: Sql, rows: string): Fragment => sql`
  json_to_recordset(${rows}::text::json) as r (
    tenant_id text, page_id text, version_id text, page_group_id text, version_number integer,
    status text, published_at timestamptz, failure_reason text, attempts integer,
    claimable_at timestamptz, created_at timestamptz)`
