import type * as v from 'valibot'
import type { PageCreation, PageToCreate } from '../../core/create-page-with-version.ts'
import { type Fault, refuse } from '../../core/failures.ts'
import type { PageGroupListing } from '../../core/list-page-groups.ts'
import type { PageListing } from '../../core/list-pages.ts'
import type { LoggedActivity } from '../../core/log-prospect-activity.ts'
import type { NewActivity } from '../../core/new-log.ts'
import type { Scope } from '../../core/ports/api-keys.ts'
import type { PageWant } from '../../core/ports/pages.ts'
import { writeJson } from '../../json/write-json.ts'
import type { RawJson } from '../../shapes/json.ts'
import { CreatedPage, NewPage, PageSlice, PageWithVersion } from '../../shapes/page.ts'
import { PageGroupQuery, PageGroupSlice } from '../../shapes/page-group.ts'
import { NewProspectLog, ProspectLogReceipt } from '../../shapes/prospect-log.ts'
import { SliceQuery } from '../../shapes/slice.ts'
import type { QueryShape } from './parse-request.ts'
import type { ProblemCode } from './problems.ts'

/** What the routes run. */
export type UseCases = {
  readonly logProspectActivity: (activity: NewActivity) => Promise<LoggedActivity>
  readonly listPageGroups: (listing: PageGroupListing) => Promise<PageGroupSlice>
  readonly listPages: (listing: PageListing) => Promise<PageSlice>
  readonly getPage: (want: PageWant) => Promise<PageWithVersion>
  readonly createPageWithVersion: (page: PageToCreate) => Promise<PageCreation>
}

/** A request with a valid key, scope, query, header and body. */
export type CheckedRequest<Query, Body> = {
  readonly tenantId: string
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  /** The exact text of each member of the body. */
  readonly members: ReadonlyMap<string, RawJson>
  /** From the header `Idempotency-Key`. */
  readonly idempotencyKey: string | undefined
}
type Answer = { readonly body: object; readonly replayed?: boolean }

type Spec<Query extends QueryShape, Body extends v.GenericSchema> = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly operationId: keyof UseCases
  readonly summary: string
  readonly scope: Scope
  readonly query?: Query
  readonly body?: Body
  /** True if no body means `{}`. */
  readonly bodyOptional?: boolean
  readonly answer: v.GenericSchema
  /** Serializes an answer that contains raw JSON text. */
  readonly write?: (answer: object) => string
  readonly status: 200 | 201
  /** In addition to the problems of every operation. */
  readonly problems: readonly ProblemCode[]
  readonly run: (
    useCases: UseCases,
    request: CheckedRequest<v.InferOutput<Query>, v.InferOutput<Body>>,
  ) => Promise<Answer>
}
/** One operation, as the router, the parser and the OpenAPI document read it. */
export type Route = Spec<QueryShape, v.GenericSchema>

/** Checks each row against its own shapes, which the type of the whole table cannot. */
const route = <Query extends QueryShape = never, Body extends v.GenericSchema = never>(
  spec: Spec<Query, Body>,
): Route => spec as unknown as Route

export const ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/v0/prospect_logs',
    operationId: 'logProspectActivity',
    summary: "Log a prospect's activity",
    scope: 'prospect_logs:write',
    body: NewProspectLog,
    answer: ProspectLogReceipt,
    status: 201,
    problems: ['prospect_not_found', 'idempotency_key_reused'],
    run: async ({ logProspectActivity }, { tenantId, body, members, idempotencyKey }) => {
      const key = oneKey(body.idempotencyKey, idempotencyKey)
      const payload = members.get('payload') as RawJson
      const activity = { ...body, ...(key !== undefined && { idempotencyKey: key }), tenantId, payload }
      const { receipt, replayed } = await logProspectActivity(activity)
      return { body: receipt, replayed }
    },
  }),
  route({
    method: 'GET',
    path: '/v0/page_groups',
    operationId: 'listPageGroups',
    summary: 'List page groups, newest first',
    scope: 'page_groups:read',
    query: PageGroupQuery,
    answer: PageGroupSlice,
    write: writeJson,
    status: 200,
    problems: ['invalid_cursor'],
    run: async ({ listPageGroups }, { tenantId, query }) => ({
      body: await listPageGroups({ ...query, tenantId }),
    }),
  }),
  route({
    method: 'GET',
    path: '/v0/page_groups/{page_group_id}/pages',
    operationId: 'listPages',
    summary: 'List the pages of a page group, newest first',
    scope: 'pages:read',
    query: SliceQuery,
    answer: PageSlice,
    status: 200,
    problems: ['invalid_cursor', 'page_group_not_found'],
    run: async ({ listPages }, { tenantId, params, query }) => ({
      body: await listPages({ ...query, tenantId, pageGroupId: params['page_group_id'] ?? '' }),
    }),
  }),
  route({
    method: 'GET',
    path: '/v0/page_groups/{page_group_id}/pages/{page_id}',
    operationId: 'getPage',
    summary: 'Read a page with its published version',
    scope: 'pages:read',
    answer: PageWithVersion,
    status: 200,
    problems: ['page_group_not_found', 'page_not_found'],
    run: async ({ getPage }, { tenantId, params }) => {
      const { page_group_id: pageGroupId = '', page_id: pageId = '' } = params
      return { body: await getPage({ tenantId, pageGroupId, pageId }) }
    },
  }),
  route({
    method: 'POST',
    path: '/v0/page_groups/{page_group_id}/pages',
    operationId: 'createPageWithVersion',
    summary: 'Create a page and its first version',
    scope: 'pages:write',
    body: NewPage,
    bodyOptional: true,
    answer: CreatedPage,
    status: 201,
    problems: ['page_group_not_found', 'page_group_not_active', 'idempotency_key_reused'],
    run: async ({ createPageWithVersion }, { tenantId, params, body, idempotencyKey }) => {
      const pageGroupId = params['page_group_id'] ?? ''
      const creation = { ...body, tenantId, pageGroupId, idempotencyKey }
      const { page, replayed } = await createPageWithVersion(creation)
      return { body: page, replayed }
    },
  }),
]

/** The key may be in the body, the header, or both if they are equal. */
const oneKey = (inBody: string | undefined, inHeader: string | undefined): string | undefined => {
  const key = inBody ?? inHeader
  if (inHeader === undefined || key === inHeader) return key
  const each = 'must be the same in the body and in the Idempotency-Key header'
  const errors: Fault[] = [
    { detail: each, pointer: '/idempotencyKey' },
    { detail: each, parameter: 'Idempotency-Key' },
  ]
  const detail = 'The body and the Idempotency-Key header contain different idempotency keys.'
  return refuse('invalid_request', detail, { errors })
}
