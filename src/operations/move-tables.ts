/** PostgreSQL's types. SQLite keeps JSON and times as text, lists as words with spaces between, booleans as 0 and 1. */
export type ColumnType = 'text' | 'text[]' | 'json' | 'boolean' | 'integer' | 'bigint' | 'timestamptz'
export type Table = {
  readonly name: string
  readonly key: readonly string[]
  readonly columns: Readonly<Record<string, ColumnType>>
}

/** All tables, in the order in which they are copied: a table comes after those that it refers to. */
export const TABLES: readonly Table[] = [
  {
    name: 'tenants',
    key: ['tenant_id'],
    columns: { tenant_id: 'text', name: 'text', created_at: 'timestamptz' },
  },
  {
    name: 'brands',
    key: ['tenant_id', 'brand_id'],
    columns: { tenant_id: 'text', brand_id: 'text', name: 'text', created_at: 'timestamptz' },
  },
  {
    name: 'api_keys',
    key: ['api_key_id'],
    columns: {
      api_key_id: 'text',
      tenant_id: 'text',
      key_hash: 'text',
      start: 'text',
      name: 'text',
      scopes: 'text[]',
      created_at: 'timestamptz',
      expires_at: 'timestamptz',
      revoked_at: 'timestamptz',
      last_used_at: 'timestamptz',
    },
  },
  {
    name: 'prospects',
    key: ['tenant_id', 'prospect_id'],
    columns: {
      tenant_id: 'text',
      prospect_id: 'text',
      email: 'text',
      email_hash: 'text',
      name: 'text',
      created_at: 'timestamptz',
    },
  },
  {
    name: 'prospect_logs',
    key: ['tenant_id', 'prospect_log_id'],
    columns: {
      tenant_id: 'text',
      prospect_log_id: 'text',
      prospect_id: 'text',
      source: 'text',
      type: 'text',
      payload: 'json',
      email: 'text',
      name: 'text',
      idempotency_key: 'text',
      request_hash: 'text',
      created_prospect: 'boolean',
      created_at: 'timestamptz',
    },
  },
  {
    name: 'page_groups',
    key: ['tenant_id', 'page_group_id'],
    columns: {
      tenant_id: 'text',
      page_group_id: 'text',
      brand_id: 'text',
      name: 'text',
      title: 'text',
      page_context: 'text',
      status: 'text',
      actions: 'json',
      footer_links: 'json',
      scripts: 'json',
      header_action_id: 'text',
      created_at: 'timestamptz',
      updated_at: 'timestamptz',
      deleted_at: 'timestamptz',
    },
  },
  {
    name: 'page_counts',
    key: ['tenant_id', 'page_group_id'],
    columns: { tenant_id: 'text', page_group_id: 'text', pages_count: 'bigint' },
  },
  {
    name: 'pages',
    key: ['tenant_id', 'page_group_id', 'page_id'],
    columns: {
      tenant_id: 'text',
      page_group_id: 'text',
      page_id: 'text',
      custom_name: 'text',
      computed_name: 'text',
      supplementary_context: 'text',
      published_version_id: 'text',
      latest_version_id: 'text',
      idempotency_key: 'text',
      request_hash: 'text',
      created_at: 'timestamptz',
      updated_at: 'timestamptz',
    },
  },
  {
    name: 'page_versions',
    key: ['tenant_id', 'page_id', 'version_id'],
    columns: {
      tenant_id: 'text',
      page_id: 'text',
      version_id: 'text',
      page_group_id: 'text',
      version_number: 'integer',
      status: 'text',
      published_at: 'timestamptz',
      failure_reason: 'text',
      attempts: 'integer',
      claimable_at: 'timestamptz',
      created_at: 'timestamptz',
    },
  },
]
