/** The world of the examples in the API's reference. */

export const id = (prefix: string, end: string) => `${prefix}_01m7yh7d5pffawjchjgbnz7${end}`
export const GROUP_ID = id('pagegroup', 'qct')
export const PAGE_ID = id('page', 'n94')
export const VERSION_ID = id('pageversion', 'h9z')
export const LOG_ID = id('prospectlog', 'p19')
export const HOOK_ID = id('hook', 'k01')
export const TENANT_ID = id('tenant', 'tyh')
export const CREATED_AT = '2026-11-21T07:48:09.561Z'
export const PUBLISHED_AT = '2026-11-21T07:48:09.566Z'
export const PROSPECT_ID = id('prospect', 'p18')
export const OTHER_PROSPECT_ID = id('prospect', 'p19')
export const CURSOR = Buffer.from(`1:pages:${PAGE_ID}`).toString('base64url')

export const page = { pageId: PAGE_ID, pageGroupId: GROUP_ID, tenantId: TENANT_ID, createdAt: CREATED_AT }
export const names = {
  effectiveName: 'A page about the spring sale',
  customName: null,
  computedName: 'A page about the spring sale',
  slug: null,
}
export const prospect = {
  prospectId: PROSPECT_ID,
  tenantId: TENANT_ID,
  email: 'ada@example.com',
  externalId: 'customer-4711',
  name: 'Ada Lovelace',
  attributes: { company: 'Analytical Engines', phone: '+44 20 7946 0018' },
  createdAt: '2026-11-21T07:48:09.525Z',
  updatedAt: '2026-11-21T07:48:09.525Z',
}
export const readProspect = {
  ...prospect,
  otherEmails: [],
  otherExternalIds: [],
  formerEmails: ['ada.byron@example.com'],
  formerExternalIds: [],
}
export const log = {
  prospectLogId: LOG_ID,
  prospectId: PROSPECT_ID,
  tenantId: TENANT_ID,
  source: 'crm',
  type: 'form_submitted',
  payload: { form: 'contact', answers: { company: 'Analytical Engines' } },
  email: 'Ada@example.com',
  name: 'Ada Lovelace',
  externalId: null,
  idempotencyKey: 'crm-4711',
  occurredAt: '2026-11-21T07:48:09.525Z',
  createdAt: '2026-11-21T07:48:09.525Z',
  createdProspect: true,
}
export const ERASURE_ID = id('erasure', 'x01')
export const erasure = {
  erasureId: ERASURE_ID,
  prospectId: PROSPECT_ID,
  status: 'processing',
  requestedAt: '2026-11-22T09:00:00.000Z',
  completedAt: null,
  logsErased: 0,
  waitingFor: null,
  blockedUntil: '2026-12-22T09:00:00.000Z',
  formerlyOf: [],
  stillLeadsTo: [],
}
export const erased = {
  ...erasure,
  status: 'completed',
  completedAt: '2026-11-22T09:01:30.000Z',
  logsErased: 12,
}
export const version = { versionId: VERSION_ID, versionNumber: 1 }
export const CONTENT = { headline: 'Spring sale', blocks: [{ text: 'Everything must go.' }] }
export const group = {
  pageGroupId: GROUP_ID,
  tenantId: TENANT_ID,
  brandId: id('brand', 'qpk'),
  name: 'offers',
  title: 'Offers',
  pageContext: 'What we sell in spring',
  status: 'active',
  pagesCount: 1,
  actions: [{ id: 'buy', label: 'Buy' }],
  footerLinks: [],
  scripts: [],
  createdAt: '2026-11-21T07:48:00.344Z',
  updatedAt: '2026-11-21T07:48:00.344Z',
  deletedAt: null,
  headerActionId: 'buy',
}
export const published = {
  ...page,
  ...names,
  supplementaryContext: 'A page about the spring sale',
  publishedVersion: { ...version, publishedAt: PUBLISHED_AT },
  latestVersion: { ...version, status: 'published', failureReason: null, publishAt: null },
  unpublishAt: null,
}
export const listedVersion = {
  ...version,
  status: 'published',
  failureReason: null,
  supplementaryContext: 'A page about the spring sale',
  computedName: 'A page about the spring sale',
  createdAt: CREATED_AT,
  publishedAt: PUBLISHED_AT,
  publishAt: null,
  unpublishAt: null,
}
export const PUBLISH_AT = '2026-12-01T09:00:00.000Z'
export const UNPUBLISH_AT = '2026-12-24T17:00:00.000Z'
export const scheduled = { status: 'scheduled', failureReason: null, publishAt: PUBLISH_AT }

export const RECEIPT = {
  prospectId: id('prospect', 'p18'),
  prospectLogId: LOG_ID,
  createdAt: '2026-11-21T07:48:09.525Z',
  createdProspect: true,
  source: 'crm',
  type: 'form_submitted',
}

export const ENDPOINT_ID = id('webhookendpoint', 'w01')
export const EVENT_ID = id('event', 'e01')
const HAPPENED_AT = '2026-11-21T07:48:09.525Z'
export const EVENT = {
  eventId: EVENT_ID,
  sequence: 4711,
  type: 'prospect.created',
  createdAt: HAPPENED_AT,
  apiKeyId: id('apikey', 'k11'),
  data: prospect,
}
export const erasedEvent = {
  eventId: id('event', 'e02'),
  sequence: 4712,
  type: 'prospect.erased',
  createdAt: erasure.requestedAt,
  apiKeyId: null,
  data: { prospectId: PROSPECT_ID },
}
export const FEED_CURSOR = Buffer.from('1:events:4712').toString('base64url')
export const HOOKS = 'https://crm.example/hooks'
export const endpoint = {
  webhookEndpointId: ENDPOINT_ID,
  url: HOOKS,
  types: ['prospect_log.created'],
  sources: ['crm'],
  logTypes: null,
  description: 'The CRM',
  headers: { authorization: '•••' },
  method: 'POST',
  body: { text: '{{/data/prospect/email}} sent {{/data/type}}' },
  status: 'enabled',
  disabledReason: null,
  failures: 0,
  failingSince: null,
  lastError: null,
  createdAt: CREATED_AT,
  updatedAt: CREATED_AT,
}
export const hook = {
  hookId: HOOK_ID,
  tenantId: TENANT_ID,
  source: 'stripe',
  description: null,
  status: 'enabled',
  verify: { preset: 'stripe' },
  map: { type: ['/type'], email: ['/data/object/customer_details/email'], idempotencyKey: ['/id'] },
  each: null,
  redirectTo: null,
  origins: [],
  trap: null,
  challenge: null,
  answer: null,
  unidentified: 'new',
  fieldsAsAttributes: false,
  attributesMode: 'fill',
  path: `/hooks/${HOOK_ID}`,
  url: `https://api.example.com/hooks/${HOOK_ID}`,
  createdAt: CREATED_AT,
  updatedAt: CREATED_AT,
  lastReceivedAt: PUBLISHED_AT,
  lastRefusal: { at: CREATED_AT, reason: 'The signature does not match. Check the secret.' },
  lastWarning: null,
}
export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='
export const delivery = {
  eventId: EVENT_ID,
  type: 'prospect_log.created',
  status: 'pending',
  attempts: 2,
  nextAttemptAt: '2026-11-21T07:53:12.000Z',
  lastStatusCode: 503,
  lastError: 'The receiver answered 503.',
  deliveredAt: null,
  createdAt: HAPPENED_AT,
}

export const UNAVAILABLE = { status: 503, error: delivery.lastError, answer: 'Closed for maintenance.' }
export const TOO_LATE = { status: null, error: 'No complete answer within 15 s.', answer: null }

/** The example of a webhook's body, by the resource of its event. */
export const EVENT_DATA: Readonly<Record<string, object>> = {
  prospect,
  prospect_log: log,
  page_group: group,
  page: published,
  page_version: { pageGroupId: GROUP_ID, pageId: PAGE_ID, ...listedVersion, content: CONTENT },
  webhook_endpoint: {
    ...endpoint,
    status: 'disabled',
    disabledReason: 'No delivery succeeded for 5 days.',
    failures: 21,
    failingSince: CREATED_AT,
    lastError: { at: CREATED_AT, reason: 'The endpoint answered 503.', status: 503 },
  },
}
export const lineOf = (line: object) => `${JSON.stringify(line)}\n`
