import type { StoredApiKey } from '../../core/ports/api-keys.ts'
import type { StoredErasure } from '../../core/ports/erasures.ts'
import type { NewEvent, StoredEvent } from '../../core/ports/events.ts'
import type { StoredHook } from '../../core/ports/hooks.ts'
import type { FoundPageGroup, StoredPageGroup } from '../../core/ports/page-groups.ts'
import type { StoredLog } from '../../core/ports/prospect-logs.ts'
import type { FoundProspect } from '../../core/ports/prospects.ts'
import { type Columns, columnsOf } from './columns.ts'

// Shared by the stores: the columns of the tables, and the functions that read rows.

export const COLUMNS = {
  tenants: columnsOf(`tenant_id, name, created_at timestamptz, retention_days int, suspended_at timestamptz,
    deleted_at timestamptz`),
  brands: columnsOf('tenant_id, brand_id, name, created_at timestamptz'),
  api_keys: columnsOf(`api_key_id, tenant_id, key_hash, start, name, scopes text[], created_at timestamptz,
    expires_at timestamptz, revoked_at timestamptz, rotated_at timestamptz, last_used_at timestamptz`),
  hooks: columnsOf(`tenant_id, hook_id, source, description, status, rules json, secret, previous_secret,
    previous_secret_until timestamptz, slot int, created_at timestamptz, updated_at timestamptz,
    last_received_at timestamptz, last_refused_at timestamptz, last_refusal, last_warned_at timestamptz, last_warning,
    idempotency_key, request_hash`),
  prospects:
    columnsOf(`tenant_id, prospect_id, email, external_id, name, attributes json, created_at timestamptz,
    updated_at timestamptz, merged_into, erased_at timestamptz`),
  identifiers: columnsOf('tenant_id, kind, hash, value, prospect_id, blocked_until timestamptz, erasure_id'),
  former_identifiers: columnsOf('tenant_id, prospect_id, kind, hash, value, released_at timestamptz'),
  prospect_conflicts: columnsOf('tenant_id, prospect_id, other_id, field, at timestamptz'),
  prospect_logs: columnsOf(`tenant_id, prospect_log_id, prospect_id, source, type, payload json, email, name,
    idempotency_key, request_hash, created_prospect boolean, occurred_at timestamptz, timeline_key bigint,
    created_at timestamptz, external_id, key_scope`),
  searched_tenants: columnsOf('tenant_id, position, checked, searched_at timestamptz'),
  counted_tenants: columnsOf('tenant_id, position, closed_to, read_at timestamptz'),
  prospect_log_counts: columnsOf(
    'tenant_id, unit, at timestamptz, source, type, count bigint, new_prospects bigint',
  ),
  prospect_counts: columnsOf(
    'tenant_id, kind, day int, name, days_since int, count bigint, new_prospects bigint',
  ),
  prospect_days: columnsOf('tenant_id, prospect_id, kind, name, day int'),
  usage_counts: columnsOf(
    'tenant_id, at timestamptz, api_key_id, requests bigint, activities bigint, bytes bigint',
  ),
  page_groups: columnsOf(`tenant_id, page_group_id, brand_id, name, title, page_context, status, actions json,
    footer_links json, scripts json, header_action_id, revision int, idempotency_key, request_hash,
    created_at timestamptz, updated_at timestamptz, deleted_at timestamptz`),
  page_group_deletions: columnsOf('tenant_id, page_group_id, api_key_id, after_page_id, after_event_id'),
  page_counts: columnsOf('tenant_id, page_group_id, pages_count bigint, changes bigint'),
  pages: columnsOf(`tenant_id, page_group_id, page_id, slug, custom_name, computed_name,
    published_version_id, published_at timestamptz, automatic_after, latest_version_id, revision int, idempotency_key, request_hash,
    created_at timestamptz, updated_at timestamptz, unpublish_at timestamptz, page_number int`),
  page_versions: columnsOf(`tenant_id, page_id, version_id, page_group_id, version_number int,
    supplementary_context, computed_name, content json, status, published_at timestamptz, failure_reason,
    publish boolean, attempts int, claimable_at timestamptz, idempotency_key, request_hash,
    created_at timestamptz, publish_at timestamptz, unpublish_at timestamptz, schedule_note`),
  erasures: columnsOf(`tenant_id, erasure_id, part_of, prospect_id, status, requested_at timestamptz,
    completed_at timestamptz, logs_erased int, pass int, settles_after, position, attempts int,
    claimable_at timestamptz, formerly_of json, still_leads_to json`),
  merges: columnsOf(`tenant_id, merge_id, prospect_id, into_id, api_key_id, status, requested_at timestamptz,
    completed_at timestamptz, pass int, settles_after, attempts int, claimable_at timestamptz`),
  events: columnsOf(
    `tenant_id, event_id, sequence bigint, type, ids json, api_key_id, created_at timestamptz`,
  ),
  event_counts: columnsOf('tenant_id, sequence bigint'),
  webhook_endpoints: columnsOf(`tenant_id, webhook_endpoint_id, url, types text[], description, status,
    disabled_reason, secret, previous_secret, previous_secret_until timestamptz, failures int,
    failing_since timestamptz, slot int, claims int, claimable_at timestamptz, created_at timestamptz,
    updated_at timestamptz, sources json, log_types json, headers, last_error,
    body json, method, idempotency_key, request_hash`),
  webhook_deliveries: columnsOf(`tenant_id, webhook_endpoint_id, event_id, status, attempts int,
    next_attempt_at timestamptz, last_status int, last_error, delivered_at timestamptz,
    created_at timestamptz, last_attempts json`),
}

export const without = (columns: Columns, ...names: readonly string[]): Columns =>
  Object.fromEntries(Object.entries(columns).filter(([name]) => !names.includes(name)))

/** Columns written when an activity creates or fills a prospect. */
export const PROSPECT_CHANGES = without(COLUMNS.prospects, 'erased_at', 'merged_into')

/** Attributes are read as JSON text. */
export type ProspectRow = Omit<FoundProspect, 'attributes'> & { readonly attributes: string | null }
/** A prospect or its tombstone: field by field, in this order. */
export const foundProspect = (row: ProspectRow): FoundProspect => ({
  tenantId: row.tenantId,
  prospectId: row.prospectId,
  email: row.email,
  name: row.name,
  attributes: row.attributes === null ? null : { rawJson: row.attributes },
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  erasedAt: row.erasedAt,
  externalId: row.externalId,
  mergedInto: row.mergedInto,
})

/** Columns of logs that are read back. */
export const SHOWN_LOG = without(COLUMNS.prospect_logs, 'request_hash', 'timeline_key', 'key_scope')

export type LogRow = Omit<StoredLog, 'payload' | 'createdProspect'> & {
  readonly payload: string
  readonly createdProspect: boolean | number
}
/** A log as callers see it: field by field, in this order. */
export const storedLog = (row: LogRow): StoredLog => ({
  prospectLogId: row.prospectLogId,
  prospectId: row.prospectId,
  tenantId: row.tenantId,
  source: row.source,
  type: row.type,
  payload: { rawJson: row.payload },
  email: row.email,
  name: row.name,
  externalId: row.externalId,
  idempotencyKey: row.idempotencyKey,
  occurredAt: row.occurredAt,
  createdAt: row.createdAt,
  createdProspect: Boolean(row.createdProspect),
})

/** Columns of a page group that may change. */
export const PAGE_GROUP_CHANGES = without(
  COLUMNS.page_groups,
  'tenant_id',
  'page_group_id',
  'revision',
  'idempotency_key',
  'request_hash',
  'created_at',
)

type JsonField = 'actions' | 'footerLinks' | 'scripts'
/** The JSON of a page group is read as text. */
export type PageGroupRow = Omit<StoredPageGroup, JsonField> & Readonly<Record<JsonField, string>>
/** A page group: field by field, in this order. */
export const storedPageGroup = (row: PageGroupRow): StoredPageGroup => ({
  pageGroupId: row.pageGroupId,
  tenantId: row.tenantId,
  brandId: row.brandId,
  name: row.name,
  title: row.title,
  pageContext: row.pageContext,
  status: row.status,
  pagesCount: row.pagesCount,
  actions: { rawJson: row.actions },
  footerLinks: { rawJson: row.footerLinks },
  scripts: { rawJson: row.scripts },
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  deletedAt: row.deletedAt,
  headerActionId: row.headerActionId,
})
export type FoundPageGroupRow = PageGroupRow & Pick<FoundPageGroup, 'revision' | 'requestHash'>
export const foundPageGroup = (row: FoundPageGroupRow): FoundPageGroup => ({
  ...storedPageGroup(row),
  revision: row.revision,
  requestHash: row.requestHash,
})

/** Columns of an erasure that callers see. */
export const ERASURE_SHOWN = without(COLUMNS.erasures, 'position', 'attempts', 'claimable_at')

/** Columns of a claimed erasure. */
export const ERASURE_CLAIMED = without(COLUMNS.erasures, 'formerly_of', 'still_leads_to')

/** Ids of prospects are read as JSON text. */
export type ErasureRow = Omit<StoredErasure, 'formerlyOf' | 'stillLeadsTo'> &
  Readonly<Record<'formerlyOf' | 'stillLeadsTo', string>>
export const storedErasure = (row: ErasureRow): StoredErasure => ({
  ...row,
  formerlyOf: JSON.parse(row.formerlyOf),
  stillLeadsTo: JSON.parse(row.stillLeadsTo),
})

/** Scopes are read as one text: `a b` from SQLite, `{a,b}` from PostgreSQL. */
export type ApiKeyRow = Omit<StoredApiKey, 'scopes'> & { readonly scopes: string }
export const storedApiKey = (row: ApiKeyRow): StoredApiKey => ({
  ...row,
  scopes: (row.scopes.match(/[^ {},]+/g) ?? []) as unknown as StoredApiKey['scopes'],
})

/** Columns of a hook that its owner may change. */
export const HOOK_CHANGES = without(
  COLUMNS.hooks,
  'tenant_id',
  'hook_id',
  'slot',
  'created_at',
  'last_received_at',
  'last_refused_at',
  'last_refusal',
  'last_warned_at',
  'last_warning',
  'idempotency_key',
  'request_hash',
)
export type HookRow = Omit<StoredHook, 'rules'> & { readonly rules: string }
export const storedHook = (row: HookRow): StoredHook => ({ ...row, rules: { rawJson: row.rules } })

/** `ids` is JSON text. PostgreSQL returns `sequence` as text too; it is null until the event has its number. */
export type EventRow = Omit<StoredEvent, 'ids' | 'sequence'> & {
  readonly ids: string
  readonly sequence: number | string | null
}
export const storedEvent = (row: EventRow): StoredEvent => ({
  tenantId: row.tenantId,
  eventId: row.eventId,
  sequence: Number(row.sequence),
  type: row.type,
  ids: JSON.parse(row.ids),
  apiKeyId: row.apiKeyId,
  createdAt: row.createdAt,
})

/** Events of the logs or versions that were saved by a write that may save only some of its rows. */
export const eventsOfSaved = (savedIds: readonly string[], events: readonly NewEvent[] = []) => {
  const saved = new Set<string | undefined>(savedIds)
  return events.filter(({ ids }) => saved.has(ids.prospectLogId ?? ids.versionId))
}

/**
 * Sorts rows by these members, null first. They are locked in this order, so it must be the same everywhere; any order will
 * do.
 */
export const sortedBy = <Row extends object>(rows: readonly Row[], ...members: readonly string[]): Row[] =>
  rows.toSorted(compareBy(members as readonly (keyof Row)[]))

const compareBy =
  <Row>(members: readonly (keyof Row)[]) =>
  (a: Row, b: Row): number => {
    for (const member of members) {
      const one = a[member]
      const other = b[member]
      if (one === other) continue
      // To `<`, null is neither smaller nor greater than a text.
      if (one == null || other == null) return one == null ? -1 : 1
      return one < other ? -1 : 1
    }
    return 0
  }
