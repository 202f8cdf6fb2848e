import { hash } from 'node:crypto'
import type {
  ClaimWant,
  IdPrefix,
  NewEvent,
  NewLog,
  NewPageGroupRow,
  NewPageRow,
  NewVersionRow,
  ProspectChange,
  Store,
  StoredApiKey,
  StoredEndpoint,
  StoredErasure,
  StoredHook,
} from 'prospect-pages'
import { countedIds, START_MS } from './setting.ts'

/** Rows as the use cases hand them to a store: valid, each with a new id, and with the fields that a test names. */
export const newId = countedIds()

export const sha256 = (text: string): string => hash('sha256', text, 'base64url')

/** A moment, so many milliseconds after the clock's start. */
export const at = (ms: number): string => new Date(START_MS + ms).toISOString()

/** The id of something that was made just before this time. */
export const idBefore = (prefix: IdPrefix, ms: number): string =>
  idAt(prefix, ms - 1, countOf(newId('brand')))

/** The id of something that was made then. `rest`: 16 characters. */
export const idAt = (prefix: IdPrefix, ms: number, rest: string): string => {
  const time = Array.from({ length: 10 }, (_, i) => ms / 32 ** (9 - i)).map((n) => Math.floor(n) % 32)
  const digits = time.map((n) => '0123456789abcdefghjkmnpqrstvwxyz'.charAt(n)).join('')
  return `${prefix}_${digits}${rest}`
}
const countOf = (id: string): string => id.slice(-16)

/** The claim of a publisher: everything claimable, for a minute. */
export const someClaim = (fields: Partial<ClaimWant> = {}): ClaimWant => ({
  now: at(0),
  until: at(60_000),
  horizon: at(1e12),
  afterTenantId: '',
  max: 1_000,
  ...fields,
})

export type SomeTenant = { readonly tenantId: string; readonly brandId: string }
export const addTenant = async ({ tenants }: Pick<Store, 'tenants'>): Promise<SomeTenant> => {
  const tenant = { tenantId: newId('tenant'), brandId: newId('brand') }
  await tenants.add({ ...tenant, name: 'Acme', createdAt: at(0) })
  return tenant
}

export const emailFields = (email: string) => ({ email, emailHash: sha256(email) })
export const externalFields = (externalId: string) => ({ externalId, externalIdHash: sha256(externalId) })

export const someProspect = (tenantId: string, fields: Partial<ProspectChange> = {}): ProspectChange => ({
  tenantId,
  prospectId: newId('prospect'),
  email: null,
  emailHash: null,
  externalId: null,
  externalIdHash: null,
  name: null,
  createdAt: at(0),
  updatedAt: at(0),
  ...fields,
})

type Owner = Pick<ProspectChange, 'tenantId' | 'prospectId'>
export const someLog = ({ tenantId, prospectId }: Owner, fields: Partial<NewLog> = {}): NewLog => ({
  tenantId,
  prospectLogId: newId('prospectlog'),
  prospectId,
  source: 'crm',
  type: 'webhook',
  payload: { rawJson: '{}' },
  email: null,
  name: null,
  externalId: null,
  idempotencyKey: null,
  requestHash: null,
  createdProspect: false,
  occurredAt: at(0),
  createdAt: at(0),
  ...fields,
})

export const keyFields = (idempotencyKey: string) => ({ idempotencyKey, requestHash: sha256(idempotencyKey) })

export const someGroup = (
  { tenantId, brandId }: SomeTenant,
  fields: Partial<NewPageGroupRow> = {},
): NewPageGroupRow => ({
  tenantId,
  pageGroupId: newId('pagegroup'),
  brandId,
  name: 'offers',
  title: 'Offers',
  pageContext: null,
  status: 'active',
  pagesCount: 0,
  actions: { rawJson: '[]' },
  footerLinks: { rawJson: '[]' },
  scripts: { rawJson: '[]' },
  headerActionId: null,
  createdAt: at(0),
  updatedAt: at(0),
  deletedAt: fields.status === 'deleted' ? at(0) : null,
  idempotencyKey: null,
  requestHash: null,
  ...fields,
})

export const someErasure = (tenantId: string, fields: Partial<StoredErasure> = {}): StoredErasure => ({
  tenantId,
  erasureId: newId('erasure'),
  prospectId: null,
  emailHash: null,
  externalIdHash: null,
  partOf: null,
  status: 'processing',
  requestedAt: at(0),
  completedAt: null,
  logsErased: 0,
  blockId: null,
  blockedUntil: null,
  pass: 1,
  ...fields,
})

type Parent = Pick<NewPageGroupRow, 'tenantId' | 'pageGroupId'>
export const somePage = (
  { tenantId, pageGroupId }: Parent,
  { createdAt = at(0), ...fields }: Partial<NewPageRow> = {},
): NewPageRow => ({
  tenantId,
  pageGroupId,
  pageId: newId('page'),
  customName: null,
  computedName: 'Offers 1',
  pageNumber: 1,
  supplementaryContext: null,
  content: null,
  publish: true,
  publishAt: null,
  idempotencyKey: null,
  requestHash: null,
  versionId: newId('pageversion'),
  versionNumber: 1,
  createdAt,
  updatedAt: createdAt,
  ...fields,
})

export const someVersion = (fields: Partial<NewVersionRow> = {}): NewVersionRow => ({
  versionId: newId('pageversion'),
  versionNumber: 2,
  supplementaryContext: null,
  computedName: 'Offers 2',
  content: null,
  publish: true,
  publishAt: null,
  idempotencyKey: null,
  requestHash: null,
  createdAt: at(0),
  ...fields,
})

export const someKey = (tenantId: string, fields: Partial<StoredApiKey> = {}): StoredApiKey => {
  const apiKeyId = newId('apikey')
  return {
    apiKeyId,
    tenantId,
    keyHash: sha256(apiKeyId),
    start: 'pp_abcde',
    name: null,
    scopes: ['prospect_logs:write', 'page_groups:read', 'pages:read', 'pages:write'],
    createdAt: at(0),
    expiresAt: null,
    revokedAt: null,
    rotatedAt: null,
    lastUsedAt: null,
    ...fields,
  }
}

export const someEvent = (tenantId: string, fields: Partial<NewEvent> = {}): NewEvent => ({
  tenantId,
  eventId: newId('event'),
  type: 'page_group.created',
  ids: { pageGroupId: newId('pagegroup') },
  apiKeyId: null,
  createdAt: at(0),
  ...fields,
})

export const NOT_SEEN = {
  ...{ lastReceivedAt: null, lastRefusedAt: null, lastRefusal: null },
  ...{ lastWarnedAt: null, lastWarning: null },
}
export const someHook = (tenantId: string, fields: Partial<StoredHook> = {}): StoredHook => ({
  tenantId,
  hookId: newId('hook'),
  source: 'stripe',
  description: null,
  status: 'enabled',
  rules: { rawJson: '{"verify":{"token":true},"map":{},"each":null}' },
  secret: 'plain:c2VjcmV0',
  previousSecret: null,
  previousSecretUntil: null,
  slot: 1,
  createdAt: at(0),
  updatedAt: at(0),
  ...NOT_SEEN,
  ...fields,
})

export const someEndpoint = (tenantId: string, fields: Partial<StoredEndpoint> = {}): StoredEndpoint => ({
  tenantId,
  webhookEndpointId: newId('webhookendpoint'),
  url: 'https://example.com/hooks',
  types: null,
  sources: null,
  logTypes: null,
  headers: null,
  method: 'POST',
  body: null,
  description: null,
  status: 'enabled',
  disabledReason: null,
  secret: 'plain:d2hzZWNfc2VjcmV0',
  previousSecret: null,
  previousSecretUntil: null,
  failures: 0,
  failingSince: null,
  lastError: null,
  slot: 1,
  createdAt: at(0),
  updatedAt: at(0),
  ...fields,
})

/** Texts that a careless writer of arrays, quotes or encodings would spoil. */
export const AWKWARD_TEXTS = [
  '',
  ' ',
  'NULL',
  'null',
  '{}',
  '{"a",b}',
  '{NULL}',
  '"',
  '""',
  "it's",
  "'); --",
  '\\',
  '\\\\',
  '\\"',
  '\\N',
  '\\x41',
  'a,b',
  ' padded ',
  '\n\t\r\v\f',
  '\u0001\u007f\u0085',
  '\u2028\u2029',
  '\ufeffmarked',
  '\uffff\ufffd',
  'e\u0301 is not é',
  'ИЯ ı İ ß ﬀ',
  'مرحبا‏ \u202e',
  '👩‍👩‍👧‍👦🇩🇪😀',
  '\u{10ffff}',
  '%s $1 ? :name @p #{x}',
  '2026-01-01',
  '0',
  'true',
] as const

/** Spoils everything that it can reach in what a store gave or was given. */
export const scribbleOn = (thing: unknown): void => {
  if (typeof thing !== 'object' || thing === null) return
  for (const [name, value] of Object.entries(thing)) {
    if (typeof value === 'object') scribbleOn(value)
    else (thing as Record<string, unknown>)[name] = 'scribbled'
  }
}

/** The fields named, of each row: what a port promises, where a store may answer more. */
export const only = <Row extends object, Name extends keyof Row>(
  rows: readonly Row[],
  ...names: Name[]
): Pick<Row, Name>[] =>
  rows.map((row) => Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<Row, Name>)
