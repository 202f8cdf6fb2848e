import { accessSync, constants, existsSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Row, Source, Table } from '../move.ts'
import { lastMigration } from './read-only.ts'

const READ: Readonly<Record<Table, string>> = {
  tenants: 'select tenant_id, name, created_at from tenants order by tenant_id',
  brands: 'select tenant_id, brand_id, name, created_at from brands order by tenant_id, brand_id',
  api_keys: `
    select api_key_id, tenant_id, key_hash, start, name, scopes, created_at, expires_at, revoked_at, last_used_at
    from api_keys order by api_key_id`,
  prospects: `
    select tenant_id, prospect_id, email, email_hash, name, created_at
    from prospects order by tenant_id, prospect_id`,
  prospect_logs: `
    select tenant_id, prospect_log_id, prospect_id, source, type, payload, email, name, idempotency_key, request_hash,
      created_prospect, created_at
    from prospect_logs order by tenant_id, prospect_log_id`,
  page_groups: `
    select tenant_id, page_group_id, brand_id, name, title, page_context, status, actions, footer_links, scripts,
      header_action_id, created_at, updated_at, deleted_at
    from page_groups order by tenant_id, page_group_id`,
  page_counts: `
    select tenant_id, page_group_id, pages_count from page_counts order by tenant_id, page_group_id`,
  pages: `
    select tenant_id, page_group_id, page_id, custom_name, computed_name, supplementary_context,
      published_version_id, latest_version_id, idempotency_key, request_hash, created_at, updated_at
    from pages order by tenant_id, page_group_id, page_id`,
  page_versions: `
    select tenant_id, page_id, version_id, page_group_id, version_number, status, published_at, failure_reason,
      attempts, claimable_at, created_at
    from page_versions order by tenant_id, page_id, version_id`,
}
const COUNT: Readonly<Record<Table, string>> = {
  tenants: 'select count(*) as rows from tenants',
  brands: 'select count(*) as rows from brands',
  api_keys: 'select count(*) as rows from api_keys',
  prospects: 'select count(*) as rows from prospects',
  prospect_logs: 'select count(*) as rows from prospect_logs',
  page_groups: 'select count(*) as rows from page_groups',
  page_counts: 'select count(*) as rows from page_counts',
  pages: 'select count(*) as rows from pages',
  page_versions: 'select count(*) as rows from page_versions',
}
const BUSY = 5

/** The embedded database, for `move` alone: while this is open no other process can open it, nor has it open. */
export const sqliteSource = (path: string, migrationsKnown: number): Source => {
  if (!existsSync(path)) throw new Error(`There is no file ${path}.`)
  accessSync(path, constants.W_OK)
  const file = new DatabaseSync(path)
  // Held here: Node 22.13 to 22.15 may throw a statement away whose rows are still being read.
  const reads = new Map<Table, StatementSync>()
  return {
    hold: () => {
      holdAlone(file)
      const applied = lastMigration(file)
      if (applied !== migrationsKnown)
        throw new Error(
          `The source has migration ${applied} of ${migrationsKnown}: run prospect-pages migrate on it with this program first.`,
        )
    },
    count: (table) => Number(file.prepare(COUNT[table]).get()?.['rows']),
    rows: (table) => {
      const read = file.prepare(READ[table])
      reads.set(table, read)
      return read.iterate() as Iterable<Row>
    },
    close: () => file.close(),
  }
}

/** A server may be between two writes: what it wrote after the move would not be in the target. */
const holdAlone = (file: DatabaseSync): void => {
  try {
    file.exec('pragma locking_mode = exclusive')
    file.exec('begin exclusive')
  } catch (error) {
    if ((Number((error as { errcode?: unknown }).errcode) & 0xff) !== BUSY) throw error
    throw new Error('The source is open in another process: stop the server, then move.')
  }
}
