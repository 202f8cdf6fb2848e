import type { StoredApiKey } from '../core/ports/api-keys.ts'
import type { StoredPageGroup } from '../core/ports/page-groups.ts'
import type { NewPageRow } from '../core/ports/pages.ts'
import { charactersOf, SLICE_BYTES_MAX } from '../core/slices.ts'
import type { RawJson } from '../shapes/json.ts'

// What the stores share: the columns of their tables, with their types on PostgreSQL, and how rows are read.

export const PROSPECT_COLUMNS = {
  tenant_id: 'text',
  prospect_id: 'text',
  email: 'text',
  email_hash: 'text',
  name: 'text',
  created_at: 'timestamptz',
} as const

export const PROSPECT_LOG_COLUMNS = {
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
} as const

export const PAGE_GROUP_COLUMNS = {
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
} as const

/** Of a page when it is created; `published_version_id` is set later. */
export const PAGE_COLUMNS = {
  tenant_id: 'text',
  page_group_id: 'text',
  page_id: 'text',
  custom_name: 'text',
  computed_name: 'text',
  supplementary_context: 'text',
  latest_version_id: 'text',
  idempotency_key: 'text',
  request_hash: 'text',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} as const
export const pageRow = (page: NewPageRow) => ({ ...page, latestVersionId: page.versionId })

/** `page_group_id` is `pageGroupId`. */
export const camelName = (column: string): string =>
  column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

type Value = string | number | boolean | null
/** The values of a row's members, JSON as its text. */
export const valuesOf = (row: object, members: readonly string[]): Value[] =>
  members.map((member) => {
    const value = (row as Readonly<Record<string, Value | RawJson | undefined>>)[member]
    if (value === undefined) throw new Error(`A row lacks ${member}.`)
    return typeof value === 'object' && value !== null ? value.rawJson : value
  })

type JsonColumn = 'actions' | 'footerLinks' | 'scripts'
export type PageGroupRow = Omit<StoredPageGroup, JsonColumn> & Readonly<Record<JsonColumn, string>>
export const storedPageGroup = (row: PageGroupRow): StoredPageGroup => ({
  ...row,
  actions: { rawJson: row.actions },
  footerLinks: { rawJson: row.footerLinks },
  scripts: { rawJson: row.scripts },
})

/** Scopes are read as one text, separated by blanks. */
export type ApiKeyRow = Omit<StoredApiKey, 'scopes'> & { readonly scopes: string }
export const storedApiKey = (row: ApiKeyRow): StoredApiKey => ({
  ...row,
  scopes: row.scopes.split(' ') as unknown as StoredApiKey['scopes'],
})

/** Greater than every id: ids are of lower-case letters, digits and underscores. */
export const AFTER_ALL_IDS = '~'

/** The rows that one slice needs (see `SliceWant`); the others are not even read. */
export const takeSlice = <Row extends object>(rows: Iterable<Row>, limit: number): Row[] => {
  const taken: Row[] = []
  let characters = 0
  for (const row of rows) {
    const last = taken.at(-1)
    if (last !== undefined) characters += charactersOf(last)
    taken.push(row)
    if (taken.length > limit || characters > SLICE_BYTES_MAX) break
  }
  return taken
}
