import { hash } from 'node:crypto'
import type {
  ActivityChange,
  AssumedIdentifier,
  ClaimQuery,
  FoundProspect,
  Identifier,
  IdentifierKind,
  IdPrefix,
  LogKeyLookup,
  NewEvent,
  NewIdentifier,
  NewLog,
  NewPageGroupRow,
  NewPageRow,
  NewVersionRow,
  Recorded,
  Store,
  StoredApiKey,
  StoredEndpoint,
  StoredErasure,
  StoredHook,
  StoredIdentifier,
  StoredProspect,
} from 'prospect-pages/store'
import { countedIds, START_MS } from './setting.ts'

/** Rows as the use cases hand them to a store: valid, each with a new id, and with the fields that a test names. */
export const newId = countedIds()

/** An email that a tenant lists in a simulation, as one that identifies no one. */
export const LISTED = 'listed@x'

export const sha256 = (text: string): string => hash('sha256', text, 'base64url')

/** A moment, so many milliseconds after the clock's start. */
export const at = (ms: number): string => new Date(START_MS + ms).toISOString()

/** The id of something that was made just before this time. */
export const idBefore = (prefix: IdPrefix, ms: number): string =>
  idAt(prefix, ms - 1, countOf(newId('brand')))

/** The id of something that was made then. `rest`: 16 characters. */
export const idAt = (prefix: IdPrefix, ms: number, rest: string): string => {
  const time = Array.from({ length: 10 }, (_, i) => ms / 32 ** (9 - i)).map((n) => Math.floor(n) % 32)
  const digits = time.map((n) => DIGITS.charAt(n)).join('')
  return `${prefix}_${digits}${rest}`
}
/** The time of an id, in milliseconds since 1970. */
export const timeOf = (id: string): number => {
  const time = id.slice(id.indexOf('_') + 1).slice(0, 10)
  return [...time].reduce((ms, digit) => ms * 32 + DIGITS.indexOf(digit), 0)
}
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'
const countOf = (id: string): string => id.slice(-16)

/** The claim of a publisher: everything claimable, for a minute. */
export const someClaim = (fields: Partial<ClaimQuery> = {}): ClaimQuery => ({
  now: at(0),
  until: at(60_000),
  horizon: at(1e12),
  afterTenantId: '',
  max: 1_000,
  ...fields,
})

export type SomeTenant = { readonly tenantId: string; readonly brandId: string }
/** What a verb that reads one thing answers for each of these, at once. */
export const readEach = <Want, Found>(
  read: (want: Want) => Promise<Found>,
  wants: readonly Want[],
): Promise<Found[]> => Promise.all(wants.map((want) => read(want)))

export const addTenant = async ({ tenants }: Pick<Store, 'tenants'>): Promise<SomeTenant> => {
  const tenant = { tenantId: newId('tenant'), brandId: newId('brand') }
  await tenants.add({ ...tenant, name: 'Acme', createdAt: at(0) })
  return tenant
}

/** A prospect that is neither erased nor merged. */
export type SomeProspect = Omit<FoundProspect, 'erasedAt' | 'mergedInto'>

/** Identifiers by their text, which must be normalized. */
const identifier = (kind: IdentifierKind) => (tenantId: string, text: string) => ({
  tenantId,
  kind,
  hash: sha256(text),
})
export const emailIdentifier: (tenantId: string, email: string) => Identifier = identifier('email')
export const externalIdentifier: (tenantId: string, externalId: string) => Identifier =
  identifier('externalId')

export const someProspect = (tenantId: string, fields: Partial<SomeProspect> = {}): SomeProspect => ({
  tenantId,
  prospectId: newId('prospect'),
  email: null,
  externalId: null,
  name: null,
  attributes: null,
  createdAt: at(0),
  updatedAt: at(0),
  ...fields,
})

/** The prospect as a store finds it while it is neither erased nor merged. */
export const foundProspect = (prospect: SomeProspect): FoundProspect => ({
  tenantId: prospect.tenantId,
  prospectId: prospect.prospectId,
  email: prospect.email,
  externalId: prospect.externalId,
  name: prospect.name,
  attributes: prospect.attributes,
  createdAt: prospect.createdAt,
  updatedAt: prospect.updatedAt,
  erasedAt: null,
  mergedInto: null,
})

/** Identifiers to add: the email and the external id that a prospect is shown with. */
export const identifiersOf = ({
  tenantId,
  prospectId,
  email,
  externalId,
}: Pick<SomeProspect, 'tenantId' | 'prospectId' | 'email' | 'externalId'>): NewIdentifier[] => {
  const added: NewIdentifier[] = []
  if (email !== null) added.push({ ...emailIdentifier(tenantId, email), value: email, prospectId })
  if (externalId !== null)
    added.push({ ...externalIdentifier(tenantId, externalId), value: externalId, prospectId })
  return added
}

/** An identifier, and where a decision saw it lead. */
export const assumedTo = (
  { tenantId, kind, hash }: Identifier,
  prospectId: string | null,
): AssumedIdentifier => ({ tenantId, kind, hash, prospectId })

/** The change that adds this prospect with a log, with identifiers that led to no one before. */
export const changeOf = (
  prospect: SomeProspect,
  log: NewLog | null = null,
  fields: Partial<ActivityChange> = {},
): ActivityChange => {
  const { tenantId, prospectId, email, externalId, name, attributes, updatedAt } = prospect
  const identifiers = fields.identifiers ?? identifiersOf(prospect)
  return {
    lookup: { tenantId, identifiers: identifiers.map(({ kind, hash }) => ({ tenantId, kind, hash })) },
    prospect: { tenantId, prospectId, email, externalId, name, updatedAt, erasedAt: null, mergedInto: null },
    attributes,
    unchangedSince: null,
    identifiers,
    assumed: identifiers.map((added) => assumedTo(added, null)),
    log,
    ...fields,
  }
}
/** The change that logs for a prospect which exists as it is here. */
export const logChangeOf = (
  prospect: SomeProspect,
  log: NewLog,
  fields: Partial<ActivityChange> = {},
): ActivityChange =>
  changeOf(prospect, log, {
    unchangedSince: prospect.updatedAt,
    attributes: null,
    identifiers: [],
    assumed: [],
    ...fields,
  })

/** The change that fills blanks of a prospect, after its last change. */
export const fillOf = (
  before: SomeProspect,
  fills: Partial<SomeProspect>,
  log: NewLog | null = null,
): ActivityChange => {
  const after = { ...before, updatedAt: new Date(Date.parse(before.updatedAt) + 1).toISOString(), ...fills }
  const identifiers = identifiersOf({
    ...after,
    email: fills.email ?? null,
    externalId: fills.externalId ?? null,
  })
  const { attributes = null } = fills
  return changeOf(after, log, { attributes, unchangedSince: before.updatedAt, identifiers })
}

/** The prospect with this id as it is now. */
export const prospectNow = async (
  { recall }: Pick<Store['activities'], 'recall'>,
  { tenantId, prospectId }: Owner,
): Promise<StoredProspect | undefined> =>
  (await recall({ tenantId, prospectId, identifiers: [] })).prospects[0]

/** Where these identifiers lead now: those that lead to anyone, or are blocked. */
export const identifiersNow = async (
  { recall }: Pick<Store['activities'], 'recall'>,
  identifiers: readonly Identifier[],
): Promise<StoredIdentifier[]> => {
  const known = await Promise.all(
    identifiers.map(({ tenantId, kind, hash }) =>
      recall({ tenantId, identifiers: [{ tenantId, kind, hash }] }),
    ),
  )
  return known.flatMap((found) => found.identifiers)
}

/**
 * Adds prospects one by one, each with its first log, then the other logs. Returns `overtaken` if a change is.
 * The events are saved with the first change.
 */
export const recordAll = async (
  activities: Pick<Store['activities'], 'recall' | 'record'>,
  prospects: readonly SomeProspect[],
  logs: readonly NewLog[] = [],
  events?: readonly NewEvent[],
): Promise<Recorded> => {
  const left = [...logs]
  let more = events
  const record = async (change: ActivityChange) => {
    const recorded = await activities.record(change, more)
    more = undefined
    return recorded
  }
  for (const prospect of prospects) {
    const first = left.findIndex(({ prospectId }) => prospectId === prospect.prospectId)
    const [log = null] = first < 0 ? [] : left.splice(first, 1)
    if ((await record(changeOf(prospect, log))) === 'overtaken') return 'overtaken'
  }
  const changes = await Promise.all(
    left.map(async (log) => {
      const now = await prospectNow(activities, log)
      return now && logChangeOf({ ...now, attributes: null, createdAt: now.updatedAt }, log)
    }),
  )
  const recorded = await Promise.all(changes.map((change) => (change ? record(change) : 'overtaken')))
  return recorded.includes('overtaken') ? 'overtaken' : 'recorded'
}

type Owner = Pick<SomeProspect, 'tenantId' | 'prospectId'>
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
  keyScope: '',
  requestHash: null,
  createdProspect: false,
  occurredAt: at(0),
  createdAt: at(0),
  ...fields,
})

/** The key of a log as it is looked up: among those of one scope, or from there to another one. */
export const logKey = (
  idempotencyKey: string,
  fields: Partial<Omit<LogKeyLookup, 'idempotencyKey'>> = {},
): LogKeyLookup => {
  const { source = 'crm', keyScope = '', lastKeyScope = keyScope } = fields
  return { source, idempotencyKey, keyScope, lastKeyScope }
}
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
  partOf: null,
  status: 'processing',
  requestedAt: at(0),
  completedAt: null,
  logsErased: 0,
  blockedUntil: null,
  pass: 1,
  settlesAfter: null,
  formerlyOf: [],
  stillLeadsTo: [],
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
  slug: null,
  customName: null,
  computedName: 'Offers 1',
  groupTitle: null,
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

/** Adds pages, all at once. Returns `overtaken` if a page is, beside those that are not. */
export const recordPages = async (
  { record }: Pick<Store['pages'], 'record'>,
  pages: readonly NewPageRow[],
): Promise<Recorded> => {
  const recorded = await Promise.all(pages.map((page) => record(page)))
  return recorded.includes('overtaken') ? 'overtaken' : 'recorded'
}

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
  lastReceivedAt: null,
  lastRefusedAt: null,
  lastRefusal: null,
  lastWarnedAt: null,
  lastWarning: null,
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
  idempotencyKey: null,
  requestHash: null,
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
  idempotencyKey: null,
  requestHash: null,
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
