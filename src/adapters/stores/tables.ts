import type { Columns } from './columns.ts'
import { COLUMNS } from './rows.ts'

/** A row as SQLite keeps it. */
export type Row = Readonly<Record<string, string | number | null>>
export type Table = { readonly name: string; readonly key: readonly string[]; readonly columns: Columns }

const table = (name: keyof typeof COLUMNS, ...key: string[]): Table => ({ name, key, columns: COLUMNS[name] })

/**
 * Says how far people are indexed for the search. It is not copied, nor is `is_searched`: people are indexed again where
 * they are copied to.
 */
export const SEARCHED_TENANTS = table('searched_tenants', 'tenant_id')

/**
 * All other tables in the order in which they are copied: a table comes after those that it refers to. `served` is not
 * copied: a server that was started on the target for a moment must not make it a database with other data.
 */
export const TABLES: readonly Table[] = [
  table('tenants', 'tenant_id'),
  table('brands', 'tenant_id', 'brand_id'),
  table('api_keys', 'api_key_id'),
  table('hooks', 'tenant_id', 'hook_id'),
  table('prospects', 'tenant_id', 'prospect_id'),
  table('identifiers', 'tenant_id', 'kind', 'hash'),
  table('former_identifiers', 'tenant_id', 'prospect_id', 'kind', 'hash'),
  table('prospect_conflicts', 'tenant_id', 'prospect_id', 'other_id'),
  table('prospect_logs', 'tenant_id', 'prospect_log_id'),
  table('counted_tenants', 'tenant_id'),
  table('prospect_log_counts', 'tenant_id', 'unit', 'at', 'source', 'type'),
  table('prospect_counts', 'tenant_id', 'kind', 'day', 'name', 'days_since'),
  table('prospect_days', 'tenant_id', 'prospect_id', 'kind', 'name', 'day'),
  table('usage_counts', 'tenant_id', 'at', 'api_key_id'),
  table('page_groups', 'tenant_id', 'page_group_id'),
  table('page_group_deletions', 'tenant_id', 'page_group_id'),
  table('page_counts', 'tenant_id', 'page_group_id'),
  table('pages', 'tenant_id', 'page_group_id', 'page_id'),
  table('page_versions', 'tenant_id', 'page_id', 'version_id'),
  table('erasures', 'tenant_id', 'erasure_id'),
  table('merges', 'tenant_id', 'merge_id'),
  table('events', 'tenant_id', 'event_id'),
  table('event_counts', 'tenant_id'),
  table('webhook_endpoints', 'tenant_id', 'webhook_endpoint_id'),
  table('webhook_deliveries', 'tenant_id', 'webhook_endpoint_id', 'event_id'),
]

/** The tables that hold rows of tenants, in the order in which the rows are deleted. */
export const TENANT_TABLES: readonly Table[] = [...TABLES.slice(1), SEARCHED_TENANTS].reverse()
