/** The words and examples of the OpenAPI document that no route and no shape has. */
import type { ProblemCode } from '../../src/adapters/http/problems.ts'
import type { Route, UseCases } from '../../src/adapters/http/routes.ts'

type Json = Record<string, unknown>
type Examples = Readonly<Record<string, { readonly summary: string; readonly value: object }>>
type Texts = {
  readonly description: string
  /** What the answer says when all went well. */
  readonly done: string
  readonly requests?: Examples
  readonly answers: Examples
}

export const ABOUT = `**Key.** Every operation needs an API key in the header \`x-api-key\`. A key belongs to one tenant, and what another tenant has
is answered like what nobody has. A key has scopes; each operation names the one it needs.

**Repeating.** Send \`Idempotency-Key\` with a POST, and send it again as often as you like: the first answer comes again, with
\`Idempotent-Replayed: true\`. After a 503 or a lost connection nobody knows whether the write happened; repeat it with the
same key.

**Lists** are newest first, and stable while others write. Pass \`nextCursor\` as \`cursor\` while \`hasMore\` is true.
A slice of pages may be shorter than \`limit\` where custom names are very long.

**Problems** are answered as RFC 9457 has it, in \`application/problem+json\`; \`code\` tells them apart, and
\`/problems/{code}\` explains each.

**Changes.** Clients must ignore members that they do not know. \`/v0\` only grows; what breaks is announced by \`Deprecation\`
and \`Sunset\` headers 90 days before.`

const id = (prefix: string, end: string) => `${prefix}_01m7yh7d5pffawjchjgbnz7${end}`
const GROUP_ID = id('pagegroup', 'qct')
const PAGE_ID = id('page', 'n94')
const VERSION_ID = id('pageversion', 'h9z')
const LOG_ID = id('prospectlog', 'p19')
const TENANT_ID = id('tenant', 'tyh')
const CREATED_AT = '2026-11-21T07:48:09.561Z'
const PUBLISHED_AT = '2026-11-21T07:48:09.566Z'
const CURSOR = Buffer.from(`1:pages:${PAGE_ID}`).toString('base64url')

const page = { pageId: PAGE_ID, pageGroupId: GROUP_ID, tenantId: TENANT_ID, createdAt: CREATED_AT }
const names = {
  effectiveName: 'A page about the spring sale',
  customName: null,
  computedName: 'A page about the spring sale',
}
const version = { versionId: VERSION_ID, versionNumber: 1 }

export const TEXTS: Readonly<Record<keyof UseCases, Texts>> = {
  logProspectActivity: {
    description:
      'Stores what a prospect did. The prospect is the one of `prospectId`, else the one with this `email`, else a new one.',
    done: 'The activity is stored. A repetition with the same idempotency key is answered as the first time.',
    requests: {
      by_email: {
        summary: 'Of a person known by email, or met for the first time',
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
        summary: 'Of a prospect whose id is known',
        value: { source: 'shop', prospectId: id('prospect', 'p18'), payload: { cart: ['book'] } },
      },
    },
    answers: {
      new_prospect: {
        summary: 'The prospect is new',
        value: {
          prospectId: id('prospect', 'p18'),
          prospectLogId: LOG_ID,
          createdAt: '2026-11-21T07:48:09.525Z',
          createdProspect: true,
          source: 'crm',
          type: 'form_submitted',
        },
      },
    },
  },
  listPageGroups: {
    description: 'Answers the page groups of the tenant, a slice at a time.',
    done: 'A slice of the page groups.',
    answers: {
      whole: {
        summary: 'All there is',
        value: {
          items: [
            {
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
            },
          ],
          hasMore: false,
          limit: 20,
        },
      },
    },
  },
  listPages: {
    description: 'Answers the pages of one group, a slice at a time.',
    done: 'A slice of the pages.',
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
      'Answers a page from the moment it exists. `latestVersion` tells how far its publishing has come.',
    done: 'The page.',
    answers: {
      published: {
        summary: 'Published',
        value: {
          ...page,
          ...names,
          supplementaryContext: 'A page about the spring sale',
          publishedVersion: { ...version, publishedAt: PUBLISHED_AT },
          latestVersion: { ...version, status: 'published', failureReason: null },
        },
      },
      processing: {
        summary: 'Not published yet',
        value: {
          ...page,
          ...names,
          supplementaryContext: 'A page about the spring sale',
          publishedVersion: null,
          latestVersion: { ...version, status: 'processing', failureReason: null },
        },
      },
    },
  },
  createPageWithVersion: {
    description:
      'Creates a page. Its first version is published in the background a moment later: read the page to see.',
    done: 'The page is stored. A repetition with the same idempotency key is answered as the first time.',
    requests: {
      about: {
        summary: 'With what it is about',
        value: { supplementaryContext: 'A page about the spring sale' },
      },
      named: { summary: 'With a name of its own', value: { customName: 'Spring sale' } },
      empty: { summary: 'With nothing; no body at all means the same', value: {} },
    },
    answers: { created: { summary: 'Created', value: { ...page, status: 'processing' } } },
  },
}

/** What stands in a path, with an example that is shown and never sent by itself. */
export const PATH_PARAMETERS: Readonly<Record<string, { description: string; example: string }>> = {
  page_group_id: { description: 'The id of the page group.', example: GROUP_ID },
  page_id: { description: 'The id of the page.', example: PAGE_ID },
}

export const QUERY_EXAMPLES: Readonly<Record<string, unknown>> = {
  cursor: CURSOR,
  limit: 50,
  status: 'active',
}

/** What an example of a problem says in this operation, where it says more than its explanation. */
export const problemTexts = (code: ProblemCode, { operationId, scope }: Route): Json => {
  if (code === 'invalid_request')
    return {
      detail: 'The request is not of the right shape: see `errors`.',
      errors: [FAULTS[operationId]],
    }
  if (code === 'invalid_cursor')
    return {
      detail: 'This cursor was not issued by this list with this filter.',
      errors: [{ detail: 'must be the nextCursor of this list with this filter', parameter: 'cursor' }],
    }
  if (code === 'insufficient_scope')
    return { detail: `The API key lacks the scope ${scope}.`, requiredScope: scope }
  if (code === 'idempotency_key_reused')
    return operationId === 'logProspectActivity' ? { prospectLogId: LOG_ID } : { pageId: PAGE_ID }
  return {}
}

const WRONG_LIMIT = { detail: 'must be a whole number from 1 to 100, in digits', parameter: 'limit' }
const FAULTS: Readonly<Record<keyof UseCases, object>> = {
  logProspectActivity: { detail: 'is required', pointer: '/payload' },
  listPageGroups: WRONG_LIMIT,
  listPages: WRONG_LIMIT,
  getPage: { detail: 'must not be given more than once', parameter: 'content-type' },
  createPageWithVersion: { detail: 'must be a string', pointer: '/customName' },
}
