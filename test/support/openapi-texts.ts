/** Texts and examples of the OpenAPI document that belong to no route and no shape. */

import type { Route } from '../../src/adapters/http/route.ts'
import type { ProblemCode } from '../../src/core/engine/failures.ts'
import type { UseCases } from '../../src/service/use-cases.ts'
import { EVENT_TYPES } from '../../src/shapes/event.ts'

type Json = Record<string, unknown>
type Examples = Readonly<Record<string, { readonly summary: string; readonly value: object | string }>>
export type Texts = {
  readonly description: string
  /** The description of the successful answer. */
  readonly done: string
  /** Another successful status, with examples. */
  readonly also?: { readonly status: 200 | 207; readonly done: string; readonly answers: Examples }
  readonly requests?: Examples
  /** None with status 204. */
  readonly answers?: Examples
}

export const ABOUT = `**Authentication.** Send an API key in the \`x-api-key\` header. A key belongs to one tenant. Another tenant's resources return
404, as if they did not exist. Each operation requires one scope of the key.

**Idempotency.** Send an \`Idempotency-Key\` header with a POST to make it safe to retry. A retry returns the first answer, with
\`Idempotent-Replayed: true\`. It must repeat the payload byte for byte. After a 503 or a lost connection the write may or may
not have happened: retry it with the same key.

**Conditional requests.** Every GET returns an \`ETag\`, except the export of a prospect. Sent back as \`If-None-Match\`, it saves the
body while nothing has changed (304). The \`ETag\` of a page or page group is its revision: sent back as \`If-Match\` with a change,
it guards against overwriting another person's change (412).

**Pagination.** Lists are sorted newest first, unless they say otherwise, and stay consistent while others write. While \`hasMore\` is true, pass
\`nextCursor\` as \`cursor\`. A slice holds at most 1 MiB of JSON, so it may be shorter than \`limit\` while \`hasMore\` is true.

**Webhooks** follow [Standard Webhooks](https://www.standardwebhooks.com) 1.0. Verify each with its secret, answer it with any
2xx within 15 seconds, and skip what you have seen by its \`webhook-id\`: each event is delivered at least once, and not always
in order. Other answers are retried for about three days. Without webhooks, poll the feed.

**Errors** are RFC 9457 problem documents (\`application/problem+json\`). Programs should branch on \`code\`;
\`/problems/{code}\` explains each one. An unknown query parameter is refused.

**Text.** Strings are Unicode. One with a NUL character (U+0000) or an unpaired surrogate is refused with 400. \`payload\` and
\`content\` are exempt: they are stored byte for byte.

**Tracing.** Every request may carry two headers: \`X-Request-Id\`, an id of 1 to 128 letters, digits, \`.\`, \`_\` or \`-\`, and
\`traceparent\` (W3C Trace Context). An invalid value is ignored. Every response has an \`X-Request-Id\`.

**Unknown members** of a body are ignored. A likely typo, such as \`publsh\`, is refused, except in activities.

**Compatibility.** Clients must ignore unknown members. \`/v0\` may gain operations and members at any time. Breaking changes are
announced with \`Deprecation\` and \`Sunset\` headers at least 90 days in advance.`

const id = (prefix: string, end: string) => `${prefix}_01m7yh7d5pffawjchjgbnz7${end}`
const GROUP_ID = id('pagegroup', 'qct')
const PAGE_ID = id('page', 'n94')
const VERSION_ID = id('pageversion', 'h9z')
const LOG_ID = id('prospectlog', 'p19')
const HOOK_ID = id('hook', 'k01')
const TENANT_ID = id('tenant', 'tyh')
const CREATED_AT = '2026-11-21T07:48:09.561Z'
const PUBLISHED_AT = '2026-11-21T07:48:09.566Z'
const PROSPECT_ID = id('prospect', 'p18')
const OTHER_PROSPECT_ID = id('prospect', 'p19')
const CURSOR = Buffer.from(`1:pages:${PAGE_ID}`).toString('base64url')

const page = { pageId: PAGE_ID, pageGroupId: GROUP_ID, tenantId: TENANT_ID, createdAt: CREATED_AT }
const names = {
  effectiveName: 'A page about the spring sale',
  customName: null,
  computedName: 'A page about the spring sale',
}
const prospect = {
  prospectId: PROSPECT_ID,
  tenantId: TENANT_ID,
  email: 'ada@example.com',
  externalId: 'customer-4711',
  name: 'Ada Lovelace',
  createdAt: '2026-11-21T07:48:09.525Z',
  updatedAt: '2026-11-21T07:48:09.525Z',
}
const log = {
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
const ERASURE_ID = id('erasure', 'x01')
const erasure = {
  erasureId: ERASURE_ID,
  prospectId: PROSPECT_ID,
  status: 'processing',
  requestedAt: '2026-11-22T09:00:00.000Z',
  completedAt: null,
  logsErased: 0,
  waitingFor: null,
  blockedUntil: '2026-12-22T09:00:00.000Z',
}
const erased = { ...erasure, status: 'completed', completedAt: '2026-11-22T09:01:30.000Z', logsErased: 12 }
const version = { versionId: VERSION_ID, versionNumber: 1 }
const CONTENT = { headline: 'Spring sale', blocks: [{ text: 'Everything must go.' }] }
const group = {
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
const published = {
  ...page,
  ...names,
  supplementaryContext: 'A page about the spring sale',
  publishedVersion: { ...version, publishedAt: PUBLISHED_AT },
  latestVersion: { ...version, status: 'published', failureReason: null, publishAt: null },
  unpublishAt: null,
}
const listedVersion = {
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
const PUBLISH_AT = '2026-12-01T09:00:00.000Z'
const UNPUBLISH_AT = '2026-12-24T17:00:00.000Z'
const scheduled = { status: 'scheduled', failureReason: null, publishAt: PUBLISH_AT }

const RECEIPT = {
  prospectId: id('prospect', 'p18'),
  prospectLogId: LOG_ID,
  createdAt: '2026-11-21T07:48:09.525Z',
  createdProspect: true,
  source: 'crm',
  type: 'form_submitted',
}

const ENDPOINT_ID = id('webhookendpoint', 'w01')
const EVENT_ID = id('event', 'e01')
const HAPPENED_AT = '2026-11-21T07:48:09.525Z'
const EVENT = {
  eventId: EVENT_ID,
  sequence: 4711,
  type: 'prospect.created',
  createdAt: HAPPENED_AT,
  apiKeyId: id('apikey', 'k11'),
  data: prospect,
}
const erasedEvent = {
  eventId: id('event', 'e02'),
  sequence: 4712,
  type: 'prospect.erased',
  createdAt: erasure.requestedAt,
  apiKeyId: null,
  data: { prospectId: PROSPECT_ID },
}
const FEED_CURSOR = Buffer.from('1:events:4712').toString('base64url')
const HOOKS = 'https://crm.example/hooks'
const endpoint = {
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
const hook = {
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
  unidentified: 'new',
  path: `/hooks/${HOOK_ID}`,
  url: `https://api.example.com/hooks/${HOOK_ID}`,
  createdAt: CREATED_AT,
  updatedAt: CREATED_AT,
  lastReceivedAt: PUBLISHED_AT,
  lastRefusal: { at: CREATED_AT, reason: 'The signature does not match. Check the secret.' },
  lastWarning: null,
}
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='
const delivery = {
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

const UNAVAILABLE = { status: 503, error: delivery.lastError, answer: 'Closed for maintenance.' }
const TOO_LATE = { status: null, error: 'No complete answer within 15 s.', answer: null }

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
export const EVENT_EXAMPLE = EVENT

const lineOf = (line: object) => `${JSON.stringify(line)}\n`

export const TEXTS: Readonly<Record<keyof UseCases, Texts>> = {
  logProspectActivity: {
    description:
      'Stores an activity. It belongs to the prospect with this `prospectId`, otherwise to the one with this `externalId`, otherwise to the one with this `email`, otherwise to a new prospect. If `externalId` and `email` belong to two prospects, it belongs to the one with the `externalId`, and neither prospect changes.',
    done: 'The activity was stored. A retry with the same idempotency key returns the same answer.',
    requests: {
      by_email: {
        summary: 'Find or create the prospect by email',
        value: {
          source: 'crm',
          type: 'form_submitted',
          email: 'ada@example.com',
          name: 'Ada Lovelace',
          payload: { form: 'contact', answers: { company: 'Analytical Engines' } },
        },
      },
      repeatable: {
        summary: 'With an idempotency key in the body',
        value: { source: 'crm', payload: { form: 'contact' }, idempotencyKey: 'crm-4711' },
      },
      known_prospect: {
        summary: 'For a known prospect, with the time when it happened',
        value: {
          source: 'shop',
          prospectId: PROSPECT_ID,
          payload: { cart: ['book'] },
          occurredAt: '2026-11-22T09:00:00+01:00',
        },
      },
    },
    answers: {
      new_prospect: {
        summary: 'A new prospect was created',
        value: RECEIPT,
      },
    },
  },
  logProspectActivities: {
    description: `Stores 1 to 1,000 activities in the order in which they are sent: an item finds the prospect that an item before it created. Each
item is the body of a single request and has its own result. Idempotency is per item: give each its \`idempotencyKey\`, and retry
those refused with 503. All items together may take 8 MiB unless the server sets another limit. A batch counts as its items against the rate limit.`,
    done: 'Every activity is stored.',
    also: {
      status: 207,
      done: 'At least one item was refused: its `status` and `problem` are those of a single request. The others are stored.',
      answers: {
        some_refused: {
          summary: 'One of two items was refused',
          value: {
            items: [
              { status: 201, prospectLog: RECEIPT, replayed: false },
              {
                status: 400,
                problem: {
                  type: '/problems/invalid_request',
                  title: 'Invalid request',
                  status: 400,
                  detail: 'The request is invalid. See `errors`.',
                  instance: '0b9e5a52-6c0f-4b0b-9d6f-2f2f6f1f9a11',
                  code: 'invalid_request',
                  errors: [{ detail: 'is required', pointer: '/payload' }],
                },
              },
            ],
            accepted: 1,
            refused: 1,
          },
        },
      },
    },
    requests: {
      two: {
        summary: 'Two activities of one person',
        value: {
          items: [
            {
              source: 'crm',
              email: 'ada@example.com',
              payload: { form: 'contact' },
              idempotencyKey: 'crm-4711',
            },
            {
              source: 'crm',
              email: 'ada@example.com',
              payload: { form: 'offer' },
              idempotencyKey: 'crm-4712',
            },
          ],
        },
      },
    },
    answers: {
      all_accepted: {
        summary: 'The only item was stored',
        value: { items: [{ status: 201, prospectLog: RECEIPT, replayed: false }], accepted: 1, refused: 0 },
      },
    },
  },
  createProspect: {
    description:
      'Creates a prospect with this `externalId`, `email` and `name`. If one exists with this `externalId`, otherwise with this `email`, its empty fields are filled instead. Nothing is overwritten, so repeating a request is safe. One of `externalId` and `email` is required. An email that another prospect has is left out, and `emailTakenBy` names that prospect.',
    done: 'The prospect was created.',
    also: {
      status: 200,
      done: 'The prospect existed. Its empty fields were filled.',
      answers: { found: { summary: 'It existed', value: { ...prospect, emailTakenBy: null } } },
    },
    requests: {
      customer: {
        summary: 'A customer of a shop',
        value: { externalId: 'customer-4711', email: 'ada@example.com', name: 'Ada Lovelace' },
      },
    },
    answers: { created: { summary: 'A new prospect', value: { ...prospect, emailTakenBy: null } } },
  },
  listProspects: {
    description:
      'Returns the prospects of the tenant, one slice at a time. With `email` or `externalId`, at most the one prospect that has it. With `search`, the people whose email or name begins with it. Erased prospects are omitted.',
    done: 'A slice of prospects.',
    answers: {
      whole: { summary: 'The only slice', value: { items: [prospect], hasMore: false } },
      nobody: { summary: 'No prospect has this email', value: { items: [], hasMore: false } },
    },
  },
  getProspect: {
    description: 'Returns a prospect. An erased one returns 410.',
    done: 'The prospect.',
    answers: {
      named: { summary: 'With an email, an external id and a name', value: prospect },
      anonymous: {
        summary: 'Without any',
        value: { ...prospect, email: null, externalId: null, name: null },
      },
    },
  },
  updateProspect: {
    description:
      'Replaces the email, the external id or the name of a prospect, or removes it. Earlier activities keep the values they were sent with.',
    done: 'The prospect as it is now.',
    requests: {
      named: { summary: 'Correct the name', value: { name: 'Ada King' } },
      both: {
        summary: 'Correct both',
        value: { email: 'ada.lovelace@example.com', name: 'Ada King' },
      },
      removed: { summary: 'Remove the email', value: { email: null } },
    },
    answers: {
      corrected: {
        summary: 'Corrected',
        value: { ...prospect, email: 'ada.lovelace@example.com', name: 'Ada King', updatedAt: PUBLISHED_AT },
      },
    },
  },
  mergeProspect: {
    description:
      'Merges the prospect of the path into another one, the survivor. This is final. From now on its id, email and external id lead to the survivor everywhere, and fill the empty fields of the survivor. Its activities move to the timeline of the survivor in the background, where each is always shown exactly once; the event `prospect.merged` follows when all have moved. If either prospect was merged before, its survivor is used. Repeating a merge changes nothing.',
    done: 'The survivor.',
    requests: { into: { summary: 'Into the prospect that remains', value: { into: OTHER_PROSPECT_ID } } },
    answers: {
      survivor: { summary: 'The survivor', value: { ...prospect, prospectId: OTHER_PROSPECT_ID } },
    },
  },
  listTimeline: {
    description:
      'Returns the activities of a prospect by `occurredAt`, one slice at a time. `since` and `until` compare `occurredAt`. A slice looks at no more than 10,000 activities: with a rare `source` or `type` it may be short or empty while `hasMore` is true.',
    done: 'A slice of activities.',
    answers: {
      whole: { summary: 'The only slice', value: { items: [log], hasMore: false } },
    },
  },
  exportProspect: {
    description: `Returns everything about a prospect as JSON lines, for a request for access: the prospect, each activity with its payload, newest
first, and at last how many there were. An answer without that last line is not complete: it ends early if the prospect is
erased meanwhile, the key is revoked, or something fails. The payload is as it was sent; only line breaks between its parts
are spaces. Of an erased prospect there is only the erasure.`,
    done: 'The lines, streamed.',
    answers: {
      whole: {
        summary: 'A prospect with one activity',
        value: [{ prospect }, { prospectLog: log }, { done: true, logs: 1 }].map(lineOf).join(''),
      },
      erased: {
        summary: 'An erased prospect',
        value: [{ erasure: erased }, { done: true, logs: 0 }].map(lineOf).join(''),
      },
    },
  },
  listProspectLogs: {
    description:
      'Returns the activities of the tenant in the order of their arrival, one slice at a time. `since` and `until` compare the time within the id of an activity, which may be a few milliseconds after `createdAt`. To continue exactly where a slice ended, pass its `nextCursor`. A slice looks at no more than 10,000 activities: with a rare `source` or `type` it may be short or empty while `hasMore` is true. With `source` and `idempotencyKey`, it returns at most the one activity that arrived under this key.',
    done: 'A slice of activities.',
    answers: {
      whole: { summary: 'The only slice', value: { items: [log], hasMore: false } },
    },
  },
  getProspectLog: {
    description: 'Returns one activity. Its payload is byte for byte as it was sent.',
    done: 'The activity.',
    answers: { logged: { summary: 'An activity', value: log } },
  },
  listPageGroups: {
    description: 'Returns the page groups of the tenant, one slice at a time.',
    done: 'A slice of page groups.',
    answers: {
      whole: {
        summary: 'The only slice',
        value: {
          items: [group],
          hasMore: false,
          limit: 20,
        },
      },
    },
  },
  listProspectLogCounts: {
    description:
      'Returns how many activities arrived in each hour or day, by source and type, up to about a minute ago. The first call starts counting, from the first activity of the tenant on. Counting stops if no one reads the counts for a month.',
    done: 'The counts, oldest first.',
    answers: {
      hours: {
        summary: 'Two hours with one source',
        value: {
          items: [
            {
              at: '2026-11-21T06:00:00.000Z',
              source: 'crm',
              type: 'form_submitted',
              count: 12,
              newProspects: 4,
            },
            {
              at: '2026-11-21T07:00:00.000Z',
              source: 'crm',
              type: 'form_submitted',
              count: 3,
              newProspects: 0,
            },
          ],
          countedUntil: '2026-11-21T07:47:09.561Z',
        },
      },
    },
  },
  getApiKey: {
    description: 'Returns the scopes of the API key of this request, and its tenant.',
    done: 'The key, without its text.',
    answers: {
      own: {
        summary: 'A key that never expires',
        value: {
          apiKeyId: id('apikey', 'k11'),
          tenantId: TENANT_ID,
          tenantName: 'Acme',
          name: 'crm',
          scopes: ['prospect_logs:write', 'prospect_logs:read'],
          createdAt: CREATED_AT,
          expiresAt: null,
        },
      },
    },
  },
  createPageGroup: {
    description: 'Creates a page group, by default in the first brand of the tenant.',
    done: 'The page group was stored. A retry with the same idempotency key returns the same answer.',
    requests: {
      short: { summary: 'With a name and a title', value: { name: 'offers', title: 'Offers' } },
      full: {
        summary: 'With a context and an action',
        value: {
          name: 'offers',
          title: 'Offers',
          pageContext: 'What we sell in spring',
          actions: [{ id: 'buy', label: 'Buy' }],
          headerActionId: 'buy',
        },
      },
    },
    answers: { created: { summary: 'Created', value: { ...group, pagesCount: 0 } } },
  },
  getPageGroup: {
    description: 'Returns a page group.',
    done: 'The page group.',
    answers: { active: { summary: 'An active page group', value: group } },
  },
  updatePageGroup: {
    description:
      'Replaces the given fields; the others keep their values. Null removes the page context or the header action. Arrays are replaced as a whole.',
    done: 'The page group as it is now.',
    requests: {
      title: { summary: 'Another title', value: { title: 'Deals' } },
      removed: { summary: 'Remove the page context', value: { pageContext: null } },
      archive: { summary: 'Archive it', value: { status: 'archived' } },
    },
    answers: {
      changed: {
        summary: 'Changed',
        value: { ...group, title: 'Deals', pageContext: null, updatedAt: PUBLISHED_AT },
      },
    },
  },
  deletePageGroup: {
    description:
      'Deletes a page group. It and its pages then return 404; only the list of deleted page groups shows it.',
    done: 'The page group is deleted.',
  },
  listPages: {
    description: 'Returns the pages of a group, one slice at a time.',
    done: 'A slice of pages.',
    answers: {
      first: {
        summary: 'The first of several slices',
        value: {
          items: [{ ...page, updatedAt: PUBLISHED_AT, ...names }],
          hasMore: true,
          nextCursor: CURSOR,
        },
      },
    },
  },
  getPage: {
    description:
      'Returns a page with its published version. `publishedVersion` is null until a version is published; `latestVersion` shows the progress.',
    done: 'The page.',
    answers: {
      published: {
        summary: 'Published',
        value: published,
      },
      with_content: {
        summary: 'Published, with content',
        value: { ...published, publishedVersion: { ...published.publishedVersion, content: CONTENT } },
      },
      processing: {
        summary: 'Not published yet',
        value: {
          ...page,
          ...names,
          supplementaryContext: 'A page about the spring sale',
          publishedVersion: null,
          latestVersion: { ...version, status: 'processing', failureReason: null, publishAt: null },
          unpublishAt: null,
        },
      },
    },
  },
  createPageWithVersion: {
    description:
      'Creates a page and its first version, which is named in the background and then published, or at `publishAt`; with `publish` false it stays `ready` until a person publishes it. Read the page to see when it is published.',
    done: 'The page was stored. A retry with the same idempotency key returns the same answer.',
    requests: {
      about: {
        summary: 'With a context',
        value: { supplementaryContext: 'A page about the spring sale' },
      },
      named: { summary: 'With a custom name', value: { customName: 'Spring sale' } },
      content: { summary: 'With content', value: { customName: 'Spring sale', content: CONTENT } },
      later: { summary: 'To be published later', value: { publishAt: PUBLISH_AT } },
      draft: { summary: 'A draft, to be published by hand', value: { content: CONTENT, publish: false } },
      empty: { summary: 'Empty; the same as no body', value: {} },
    },
    answers: { created: { summary: 'Created', value: { ...page, status: 'processing' } } },
  },
  updatePage: {
    description:
      'Replaces the custom name of a page, or removes it, or sets when the page is unpublished. Publishing a version before that, by hand or by schedule, clears the time.',
    done: 'The page as it is now.',
    requests: {
      named: { summary: 'Rename', value: { customName: 'Spring sale' } },
      removed: { summary: 'Remove the custom name', value: { customName: null } },
      until: { summary: 'Unpublish it later', value: { unpublishAt: UNPUBLISH_AT } },
    },
    answers: {
      renamed: {
        summary: 'Renamed',
        value: { ...published, effectiveName: 'Spring sale', customName: 'Spring sale' },
      },
    },
  },
  deletePage: {
    description: 'Deletes a page with all its versions, published or not.',
    done: 'The page is deleted.',
  },
  listVersions: {
    description: 'Returns the versions of a page without their content, one slice at a time.',
    done: 'A slice of versions.',
    answers: {
      whole: { summary: 'The only slice', value: { items: [listedVersion], hasMore: false } },
    },
  },
  getVersion: {
    description: 'Returns a version. Its content is byte for byte as it was sent.',
    done: 'The version.',
    answers: {
      with_content: { summary: 'With content', value: { ...listedVersion, content: CONTENT } },
      without: { summary: 'Without content', value: { ...listedVersion, content: null } },
    },
  },
  createVersion: {
    description:
      'Creates a version, which becomes ready in the background and is then published, unless `publish` is false, a newer one is already published, or someone publishes or unpublishes by hand before that. Members left out are copied from the newest version. With `publishAt` it is published at that time. A version never changes; a page has at most 1,000, and at most 100 that are scheduled.',
    done: 'The version was stored. A retry with the same idempotency key returns the same answer.',
    requests: {
      content: { summary: 'With other content', value: { content: CONTENT } },
      draft: {
        summary: 'With another context, not to be published yet',
        value: { supplementaryContext: 'A page about the summer sale', publish: false },
      },
      without: { summary: 'Without content', value: { content: null } },
    },
    answers: {
      created: {
        summary: 'Created',
        value: {
          versionId: id('pageversion', 'ha0'),
          versionNumber: 2,
          ...page,
          createdAt: PUBLISHED_AT,
          status: 'processing',
        },
      },
    },
  },
  publishVersion: {
    description:
      'Publishes a version that is `ready` or was published before. Publishing an older one than the one now published is the rollback. Versions that were requested before this call are no longer published automatically. With `publishAt` the version is `scheduled`, and all this happens at that time; sent again, it changes the schedule. With `unpublishAt` the page is unpublished then.',
    done: 'The page as it is now.',
    requests: {
      now: { summary: 'At once; the same as no body', value: {} },
      later: {
        summary: 'For some weeks',
        value: { publishAt: PUBLISH_AT, unpublishAt: UNPUBLISH_AT },
      },
    },
    answers: {
      published: { summary: 'Published', value: published },
      scheduled: {
        summary: 'Scheduled',
        value: { ...published, publishedVersion: null, latestVersion: { ...version, ...scheduled } },
      },
    },
  },
  unscheduleVersion: {
    description:
      'Ends the schedule of a version: it is `ready` again, or `published` if it was published before. A version without a schedule is unchanged.',
    done: 'The version as it is now.',
    answers: {
      unscheduled: {
        summary: 'Unscheduled',
        value: { ...listedVersion, status: 'ready', publishedAt: null, content: null },
      },
    },
  },
  unpublishPage: {
    description:
      'Withdraws the published version: readers see nothing until one is published again. Versions that were requested before this call are no longer published automatically.',
    done: 'The page as it is now.',
    answers: {
      unpublished: { summary: 'Unpublished', value: { ...published, publishedVersion: null } },
    },
  },
  eraseProspect: {
    description:
      'Erases a person, identified by exactly one of `prospectId`, `externalId` and `email`. The prospect loses its email, external id and name at once, and new activities for it are refused (410). Its activities are deleted in the background, and activities of others with the same email or external id lose both and the name. Activities with that email or external id are refused (410) for `blockDays`. A second request while it is in progress returns the same erasure.',
    done: 'The erasure is in progress. Read it to see when it is completed, some minutes later.',
    requests: {
      by_email: { summary: 'By email', value: { email: 'nobody@nowhere.example' } },
      by_id: { summary: 'By id, with the shortest block', value: { prospectId: PROSPECT_ID, blockDays: 0 } },
    },
    answers: { processing: { summary: 'In progress', value: erasure } },
  },
  listErasures: {
    description: 'Returns the erasures of the tenant, one slice at a time: ids and counts, no personal data.',
    done: 'A slice of erasures.',
    answers: { whole: { summary: 'The only slice', value: { items: [erased], hasMore: false } } },
  },
  getErasure: {
    description: 'Returns an erasure.',
    done: 'The erasure.',
    answers: {
      completed: { summary: 'Completed', value: erased },
      processing: { summary: 'In progress', value: erasure },
    },
  },
  unblockErasure: {
    description:
      'Lifts the block of an erased email and external id, for example after a typo: activities with them are accepted again. While the erasure is in progress, the block is needed; it ends within an hour after the erasure is completed. Repeating the call is safe.',
    done: 'The erasure.',
    answers: { lifted: { summary: 'Lifted', value: { ...erased, blockedUntil: null } } },
  },
  listEvents: {
    description: `Returns events in the order of their numbers, one slice at a time. \`data\` is the resource as it is now. Save \`nextCursor\` and pass it as \`cursor\` later: nothing is skipped, even while
others write. Events are recorded while the tenant has an enabled webhook endpoint, or always with \`EVENTS=on\`, and kept for 30 days unless the server sets another time. With \`types\`, a slice looks at no more than 10,000 events: it may be short or empty while \`hasMore\` is true. With \`wait\`, a request that finds no event waits up to that many seconds for one, then returns an empty slice; at most 100 requests of a tenant wait at a time.`,
    done: 'A slice of events.',
    answers: {
      some: {
        summary: 'All that there is now',
        value: { items: [EVENT, erasedEvent], hasMore: false, nextCursor: FEED_CURSOR },
      },
      none: { summary: 'Nothing new', value: { items: [], hasMore: false, nextCursor: FEED_CURSOR } },
    },
  },
  getEvent: {
    description: 'Returns an event with its data as it is now.',
    done: 'The event.',
    answers: {
      created: { summary: 'A prospect was created', value: EVENT },
      erased: { summary: 'A prospect was erased', value: erasedEvent },
    },
  },
  createWebhookEndpoint: {
    description:
      'Events are delivered to its URL from now on, as described under **Webhooks**. Only this answer and that of a rotation show the secret; the values of `headers` are never shown. With `sources` or `logTypes`, `prospect_log.created` is delivered only for such activities; other types of events are not affected. With a `body`, the receiver gets the JSON that its own API expects, filled in when it is sent; one that would be larger than 256 KiB is not sent, and its delivery fails. Put tokens into `headers`: `body` is shown again. A tenant has at most 20 endpoints.',
    done: 'The endpoint, with its secret.',
    requests: {
      some: {
        summary: 'For one type, with a note',
        value: { url: HOOKS, types: ['prospect_log.created'], description: 'The CRM' },
      },
      filtered: {
        summary: 'For activities from one source, with a header',
        value: {
          url: HOOKS,
          types: ['prospect_log.created'],
          sources: ['crm'],
          headers: { authorization: 'Bearer 4711' },
        },
      },
      filled: {
        summary: 'With a body and a method that the receiver expects',
        value: {
          url: HOOKS,
          types: ['prospect_log.created'],
          headers: { authorization: 'Bearer 4711' },
          method: 'PUT',
          body: {
            email: '{{/data/prospect/email}}',
            name: '{{/data/prospect/name?}}',
            note: '{{/data/type}} from {{/data/source}}',
          },
        },
      },
      all: { summary: 'For events of all types', value: { url: HOOKS } },
    },
    answers: { created: { summary: 'Created', value: { ...endpoint, secret: SECRET } } },
  },
  listWebhookEndpoints: {
    description: 'Returns all webhook endpoints of the tenant, at most 20.',
    done: 'The endpoints.',
    answers: { one: { summary: 'The only endpoint', value: { items: [endpoint] } } },
  },
  getWebhookEndpoint: {
    description: 'Returns a webhook endpoint, without its secret.',
    done: 'The endpoint.',
    answers: { enabled: { summary: 'An enabled endpoint', value: endpoint } },
  },
  updateWebhookEndpoint: {
    description:
      'Replaces the given fields, `headers` as a whole; the others keep their values. The status `enabled`, or another URL, method or body, clears its failures and ends its pause. Pending deliveries are sent with the new body. While it is disabled, nothing is delivered, and pending deliveries fail: replay them once the endpoint is enabled again.',
    done: 'The endpoint as it is now.',
    requests: {
      described: { summary: 'Another note', value: { description: 'The new CRM' } },
      moved: { summary: 'Another URL', value: { url: `${HOOKS}/v2` } },
      enabled: { summary: 'Enable it again', value: { status: 'enabled' } },
    },
    answers: {
      moved: {
        summary: 'With another URL',
        value: { ...endpoint, url: `${HOOKS}/v2`, updatedAt: PUBLISHED_AT },
      },
    },
  },
  deleteWebhookEndpoint: {
    description: 'Deletes a webhook endpoint with its deliveries. A request in flight is not canceled.',
    done: 'The endpoint is deleted.',
  },
  rotateWebhookSecret: {
    description:
      'Gives the endpoint a new secret. For `overlapHours` each webhook is also signed with the old secret, so receivers can change to the new one at any time. If the answer is lost, rotate again: up to three old secrets sign until the overlap is over.',
    done: 'The endpoint, with its new secret.',
    requests: {
      day: { summary: 'The old secret signs for a day; the same as no body', value: { overlapHours: 24 } },
      now: { summary: 'An old secret is compromised', value: { overlapHours: 0 } },
    },
    answers: {
      rotated: { summary: 'Rotated', value: { ...endpoint, updatedAt: PUBLISHED_AT, secret: SECRET } },
    },
  },
  testWebhookEndpoint: {
    description:
      'Sends an event, or without `eventId` one of the type `webhook_endpoint.test`, filled in and signed like every other, and returns what happened and what was sent, after 15 seconds at most. An event has its own `webhook-id`: a receiver that skips what it has seen skips it. It works for disabled endpoints too. It is not repeated, and no delivery is kept.',
    done: 'The result of the attempt.',
    requests: {
      event: { summary: 'An event that happened', value: { eventId: EVENT_ID } },
      none: { summary: 'An event to try it; the same as no body', value: {} },
    },
    answers: {
      delivered: {
        summary: 'Delivered',
        value: {
          ...{ delivered: true, statusCode: 204, durationMs: 62, error: null, answer: '' },
          ...{ method: 'POST', body: { text: 'ada@example.com sent form_submitted' } },
        },
      },
      refused: {
        summary: 'Answered with an error',
        value: {
          ...{ delivered: false, statusCode: 401, durationMs: 48, error: 'The receiver answered 401.' },
          ...{ answer: '{"message":"Unknown token"}', method: 'POST', body: { text: ' sent ' } },
        },
      },
    },
  },
  listDeliveries: {
    description:
      'Returns the deliveries of an endpoint, one slice at a time. A slice looks at no more than 10,000 deliveries: with a rare `status` it may be short or empty while `hasMore` is true.',
    done: 'A slice of deliveries.',
    answers: { whole: { summary: 'The only slice', value: { items: [delivery], hasMore: false } } },
  },
  getDelivery: {
    description:
      'Returns a delivery with its last ten attempts, newest first, even those before it was delivered again, and the body as it would be sent now, in the template of the endpoint if it has one. `answer` is null if there was none, if the address is not public or is allowed by a setting, and if the server keeps no answers (`WEBHOOK_ANSWERS=off`).',
    done: 'The delivery.',
    answers: {
      pending: {
        summary: 'Two attempts have failed',
        value: {
          ...delivery,
          lastAttempts: [
            { at: '2026-11-21T07:48:12.000Z', ms: 48, ...UNAVAILABLE },
            { at: '2026-11-21T07:47:52.000Z', ms: 15_000, ...TOO_LATE },
          ],
          body: { text: 'ada@example.com sent form_submitted' },
        },
      },
    },
  },
  retryDelivery: {
    description:
      'Delivers an event again immediately, with the same `webhook-id` and a full set of attempts, whether it was delivered before or not. The endpoint must be enabled.',
    done: 'The delivery is pending.',
    answers: {
      pending: {
        summary: 'Pending',
        value: { ...delivery, attempts: 0, nextAttemptAt: '2026-11-21T08:00:00.000Z' },
      },
    },
  },
  replayDeliveries: {
    description:
      'Delivers the events since a time again, with the same `webhook-id` each: those that were not delivered, even if they happened before the endpoint existed, or all. One request looks at no more than 10,000 events; if `nextCursor` is not null, continue from it. The endpoint must be enabled.',
    done: 'The deliveries are pending.',
    requests: {
      undelivered: { summary: 'Everything undelivered', value: { since: '2026-11-20T00:00:00Z' } },
      all: {
        summary: 'Everything',
        value: { since: '2026-11-20T00:00:00Z', onlyUndelivered: false },
      },
    },
    answers: {
      done: { summary: 'All of them', value: { deliveries: 17, nextCursor: null } },
      some: {
        summary: 'More than one request can take',
        value: { deliveries: 9_998, nextCursor: EVENT_ID },
      },
    },
  },
  createHook: {
    description:
      'A vendor posts its webhooks to `path` (`/hooks/…`, outside `/v0`, without an API key). Each is verified on its raw bytes, mapped, and logged as an activity; the answer comes after it is stored. `docs/hooks.md` has recipes. A tenant has at most 100 hooks.',
    done: 'The hook. A token in its path is shown only here.',
    requests: {
      stripe: {
        summary: 'A vendor with a preset',
        value: {
          source: 'stripe',
          verify: { preset: 'stripe', secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
        },
      },
      hmac: {
        summary: 'Any vendor that signs',
        value: {
          source: 'shop',
          verify: {
            hmac: { algorithm: 'sha256', encoding: 'hex', header: 'X-Signature', prefix: 'sha256=' },
            secret: 'a secret of the vendor',
          },
          map: { type: ['/event'], email: ['/customer/email'], idempotencyKey: ['/id'] },
        },
      },
      token: { summary: 'A vendor that does not sign', value: { source: 'form', verify: { token: true } } },
      form: {
        summary: 'A form on a website',
        value: {
          source: 'contact',
          verify: { token: true },
          map: { email: ['/email'], name: ['/name'], idempotencyKey: ['/id'] },
          redirectTo: 'https://www.shop.example/thanks',
          origins: ['https://www.shop.example'],
          trap: 'website',
        },
      },
    },
    answers: { created: { summary: 'Created', value: hook } },
  },
  listHooks: {
    description: 'Returns the hooks of the tenant, newest first.',
    done: 'A slice of hooks.',
    answers: { whole: { summary: 'The only slice', value: { items: [hook], hasMore: false } } },
  },
  getHook: {
    description:
      'Returns a hook, without its secret. `lastRefusal` says why a delivery was last refused, `lastWarning` how a body was stored that could not be read as its content type says.',
    done: 'The hook.',
    answers: { enabled: { summary: 'An enabled hook', value: hook } },
  },
  updateHook: {
    description:
      'Replaces the given fields; the others keep their values. With `verify`, the old secret or token stays valid for `overlapHours`, so the vendor can change at any time. A hook that is disabled is refused everywhere within a second.',
    done: 'The hook as it is now.',
    requests: {
      disabled: { summary: 'Disable it', value: { status: 'disabled' } },
      rotated: {
        summary: 'Another secret',
        value: { verify: { preset: 'stripe', secret: 'whsec_another' }, overlapHours: 48 },
      },
    },
    answers: {
      disabled: {
        summary: 'Disabled',
        value: { ...hook, status: 'disabled', updatedAt: PUBLISHED_AT },
      },
    },
  },
  deleteHook: {
    description: 'Deletes a hook. Its address then returns 404; its activities stay.',
    done: 'The hook is deleted.',
  },
  tryHook: {
    description:
      'Shows whether a delivery would be verified, the reason if not, and the activities it is mapped to, even if it would be refused. With `map`, uses that instead of the saved one. Nothing is stored.',
    done: 'The result. Nothing was stored.',
    requests: {
      stripe: {
        summary: 'A message that was saved',
        value: {
          headers: { 'stripe-signature': 't=1,v1=0' },
          body: '{"id":"evt_1","type":"charge.succeeded"}',
        },
      },
    },
    answers: {
      refused: {
        summary: 'It would be refused',
        value: {
          verified: false,
          reason: 'The signature does not match. Check the secret.',
          warning: null,
          activities: [
            {
              type: 'charge.succeeded',
              payload: { id: 'evt_1', type: 'charge.succeeded' },
              idempotencyKey: 'evt_1',
              source: 'stripe',
            },
          ],
        },
      },
    },
  },
}

/** Path parameters, each with an example that is shown but never filled in. */
export const PATH_PARAMETERS: Readonly<Record<string, { description: string; example: string }>> = {
  prospect_id: { description: 'The id of the prospect.', example: PROSPECT_ID },
  prospect_log_id: { description: 'The id of the activity.', example: LOG_ID },
  page_group_id: { description: 'The id of the page group.', example: GROUP_ID },
  page_id: { description: 'The id of the page.', example: PAGE_ID },
  version_id: { description: 'The id of the version.', example: VERSION_ID },
  erasure_id: { description: 'The id of the erasure.', example: ERASURE_ID },
  event_id: { description: 'The id of the event.', example: EVENT_ID },
  webhook_endpoint_id: { description: 'The id of the webhook endpoint.', example: ENDPOINT_ID },
  hook_id: { description: 'The id of the hook.', example: HOOK_ID },
}

export const QUERY_EXAMPLES: Readonly<Record<string, unknown>> = {
  by: 'hour',
  cursor: CURSOR,
  limit: 50,
  status: 'active',
  email: 'ada@example.com',
  externalId: 'customer-4711',
  search: 'ada',
  source: 'crm',
  type: 'form_submitted',
  since: '2026-11-01T00:00:00Z',
  until: '2026-12-01T00:00:00+01:00',
  idempotencyKey: 'crm-4711',
  types: 'prospect.created,prospect.erased',
  wait: 25,
}

/** The query parameters that may contain a plus sign, which means a space in a query. */
export const MAY_HAVE_PLUS: readonly string[] = [
  'email',
  'externalId',
  'search',
  'source',
  'type',
  'since',
  'until',
  'idempotencyKey',
]

/** Members of a problem's example in this operation, beyond its explanation. */
export const problemTexts = (code: ProblemCode, { operationId, scope: needed }: Route): Json => {
  const [scope] = [needed ?? []].flat()
  if (code === 'invalid_request')
    return {
      detail: 'The request is invalid. See `errors`.',
      errors: [FAULTS[operationId]],
    }
  if (code === 'invalid_cursor')
    return {
      detail: 'This cursor was not issued by this list with this filter.',
      errors: [{ detail: 'must be a nextCursor of this list', parameter: 'cursor' }],
    }
  if (code === 'insufficient_scope')
    return { detail: `The API key lacks the scope ${scope}.`, requiredScope: scope }
  if (code === 'idempotency_key_reused') return FIRST_CREATED[operationId] ?? {}
  if (code === 'precondition_failed')
    return { detail: 'It has changed: it is at revision 4 now.', revision: 4 }
  if (code === 'limit_reached') return { detail: LIMITS[operationId] }
  if (code === 'email_taken' || code === 'external_id_taken') return { prospectId: id('prospect', 'p17') }
  return {}
}

const FIRST_CREATED: Readonly<Partial<Record<keyof UseCases, Json>>> = {
  logProspectActivity: { prospectLogId: LOG_ID },
  createPageGroup: { pageGroupId: GROUP_ID },
  createPageWithVersion: { pageId: PAGE_ID },
  createVersion: { versionId: VERSION_ID },
}
const LIMITS: Readonly<Partial<Record<keyof UseCases, string>>> = {
  createVersion: 'A page has at most 1,000 versions.',
  publishVersion: 'A page has at most 100 scheduled versions.',
  mergeProspect: 'At most 100 prospects can be merged into one.',
  createWebhookEndpoint: 'A tenant has at most 20 webhook endpoints.',
  createHook: 'A tenant has at most 100 hooks.',
}
const REPEATED = { detail: 'must not be given more than once', parameter: 'content-type' }
const WRONG_LIMIT = { detail: 'must be a whole number from 1 to 100', parameter: 'limit' }
const FAULTS: Readonly<Record<keyof UseCases, object>> = {
  logProspectActivity: { detail: 'is required', pointer: '/payload' },
  createProspect: { detail: 'is required without an email', pointer: '/externalId' },
  listProspects: WRONG_LIMIT,
  getProspect: REPEATED,
  mergeProspect: { detail: 'must be another prospect', pointer: '/into' },
  updateProspect: { detail: 'is not an email address', pointer: '/email' },
  listTimeline: WRONG_LIMIT,
  exportProspect: { detail: 'this operation has no query parameters', parameter: 'limit' },
  listProspectLogs: { detail: 'is required with idempotencyKey', parameter: 'source' },
  getProspectLog: REPEATED,
  logProspectActivities: { detail: 'must have 1 to 1,000 items', pointer: '/items' },
  listPageGroups: WRONG_LIMIT,
  listPages: WRONG_LIMIT,
  getPage: REPEATED,
  createPageWithVersion: { detail: 'must be a string', pointer: '/customName' },
  createPageGroup: { detail: 'is required', pointer: '/title' },
  getPageGroup: REPEATED,
  updatePageGroup: { detail: 'must be one of active, archived', pointer: '/status' },
  deletePageGroup: REPEATED,
  updatePage: { detail: 'must be a string', pointer: '/customName' },
  deletePage: REPEATED,
  listVersions: WRONG_LIMIT,
  getVersion: REPEATED,
  createVersion: { detail: 'must be an object', pointer: '/content' },
  publishVersion: { detail: 'must be at most two years ahead', pointer: '/publishAt' },
  unscheduleVersion: REPEATED,
  unpublishPage: REPEATED,
  eraseProspect: { detail: 'is required without a prospectId or externalId', pointer: '/email' },
  listErasures: WRONG_LIMIT,
  getErasure: REPEATED,
  unblockErasure: REPEATED,
  listEvents: { detail: `must be one of ${EVENT_TYPES.join(', ')}`, parameter: 'types' },
  getEvent: REPEATED,
  createWebhookEndpoint: {
    detail:
      'must have a public address, unless WEBHOOKS_ALLOWED_HOSTS or WEBHOOKS_ALLOWED_NETWORKS allows it',
    pointer: '/url',
  },
  listWebhookEndpoints: REPEATED,
  getWebhookEndpoint: REPEATED,
  updateWebhookEndpoint: { detail: 'must be an https: URL', pointer: '/url' },
  deleteWebhookEndpoint: REPEATED,
  rotateWebhookSecret: { detail: 'must be at most 168', pointer: '/overlapHours' },
  testWebhookEndpoint: { detail: 'must be event_ followed by 26 characters a-z or 0-9', pointer: '/eventId' },
  listDeliveries: WRONG_LIMIT,
  getDelivery: REPEATED,
  retryDelivery: REPEATED,
  replayDeliveries: {
    detail: 'send exactly one of `since` and `cursor`',
    pointer: '/since',
  },
  createHook: { detail: 'needs a secret, unless it is verified by a token', pointer: '/verify' },
  listHooks: WRONG_LIMIT,
  getHook: REPEATED,
  updateHook: { detail: 'must be at most 168', pointer: '/overlapHours' },
  deleteHook: REPEATED,
  tryHook: { detail: 'is required', pointer: '/body' },
  listProspectLogCounts: { detail: 'must be one of hour, day', parameter: 'by' },
  getApiKey: REPEATED,
}
