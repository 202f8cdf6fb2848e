import type { ProblemCode } from '../../core/engine/failures.ts'
import { memoized } from '../../core/engine/keys.ts'
import { type Operation, operations } from '../../core/operations.ts'
import { writeJson } from '../../json/write-json.ts'
import type { UseCases } from '../../service/use-cases.ts'
import { logBatch } from './prospect-log-batch.ts'
import {
  type CheckedRequest,
  type Route,
  type Row,
  type Rows,
  runOf,
  writeBatch,
  writePage,
} from './route.ts'

const PROSPECTS = '/v0/prospects'
const PROSPECT = `${PROSPECTS}/{prospect_id}`
const ERASURE = '/v0/erasures/{erasure_id}'
const GROUP = '/v0/page_groups/{page_group_id}'
const PAGE = `${GROUP}/pages/{page_id}`
const VERSIONS = `${PAGE}/versions`
const VERSION = `${VERSIONS}/{version_id}`
const ENDPOINTS = '/v0/webhook_endpoints'
const ENDPOINT = `${ENDPOINTS}/{webhook_endpoint_id}`
const DELIVERIES = `${ENDPOINT}/deliveries`
const HOOK = '/v0/hooks/{hook_id}'

const by =
  (method: Row['method']) =>
  (path: string, summary: string, more: Partial<Row> = {}): Row => ({ method, path, summary, ...more })
const get = by('GET')
const post = by('POST')
const patch = by('PATCH')
const remove = by('DELETE')

/** A new operation has a row here, and its declaration in core/operations.ts. */
const ROWS: Rows = {
  logProspectActivity: post('/v0/prospect_logs', "Log a prospect's activity", {
    status: 201,
    problems: ['prospect_not_found', 'prospect_erased'],
  }),
  logProspectActivities: post('/v0/prospect_logs/batch', 'Log up to 1,000 activities', {
    status: 201,
    write: writeBatch,
    run: logBatch,
  }),
  createProspect: post(PROSPECTS, 'Create a prospect, or find the one that exists and fill its blanks', {
    status: 201,
    problems: ['prospect_erased'],
  }),
  listProspects: get(
    PROSPECTS,
    'List prospects, newest first, search them, or find one by email or external id',
  ),
  getProspect: get(PROSPECT, 'Read a prospect'),
  updateProspect: patch(PROSPECT, 'Correct the email, the external id or the name of a prospect', {
    problems: ['email_taken', 'external_id_taken'],
  }),
  mergeProspect: post(`${PROSPECT}/merge`, 'Merge a prospect into another one', {
    problems: ['limit_reached'],
  }),
  listTimeline: get(
    `${PROSPECT}/prospect_logs`,
    'List the activities of a prospect, newest first by when they happened',
  ),
  exportProspect: get(`${PROSPECT}/export`, 'Download everything about a prospect'),
  listProspectLogs: get(
    '/v0/prospect_logs',
    'List activities, newest first by when they arrived, or find one by its idempotency key',
  ),
  getProspectLog: get('/v0/prospect_logs/{prospect_log_id}', 'Read an activity'),
  listProspectLogCounts: get('/v0/prospect_log_counts', 'Count activities by hour or day, source and type', {
    problems: ['not_found'],
  }),
  eraseProspect: post('/v0/erasures', 'Erase a person', {
    status: 202,
    problems: ['prospect_not_found', 'prospect_erased'],
  }),
  listErasures: get('/v0/erasures', 'List erasures, newest first'),
  getErasure: get(ERASURE, 'Read an erasure'),
  unblockErasure: post(`${ERASURE}/unblock`, 'Lift the block of an erased email and external id'),
  listPageGroups: get('/v0/page_groups', 'List page groups, newest first'),
  createPageGroup: post('/v0/page_groups', 'Create a page group', { status: 201 }),
  getPageGroup: get(GROUP, 'Read a page group'),
  updatePageGroup: patch(GROUP, 'Change or archive a page group'),
  deletePageGroup: remove(GROUP, 'Delete a page group'),
  listPages: get(`${GROUP}/pages`, 'List the pages of a page group, newest first'),
  createPageWithVersion: post(`${GROUP}/pages`, 'Create a page and its first version', {
    status: 201,
    problems: ['page_group_not_active'],
    bodyOptional: true,
  }),
  getPage: get(PAGE, 'Read a page with its published version', { write: writePage }),
  updatePage: patch(PAGE, 'Rename a page, or set when it is unpublished', { write: writePage }),
  deletePage: remove(PAGE, 'Delete a page with its versions'),
  listVersions: get(VERSIONS, 'List the versions of a page, newest first'),
  createVersion: post(VERSIONS, 'Create a version of a page', {
    status: 201,
    problems: ['page_group_not_active', 'limit_reached'],
    bodyOptional: true,
  }),
  getVersion: get(VERSION, 'Read a version with its content'),
  publishVersion: post(`${VERSION}/publish`, 'Publish a version, even an older one, now or later', {
    problems: ['version_not_ready', 'page_group_not_active', 'limit_reached'],
    write: writePage,
    bodyOptional: true,
  }),
  unscheduleVersion: post(`${VERSION}/unschedule`, 'End the schedule of a version', {
    problems: ['version_not_ready'],
  }),
  unpublishPage: post(`${PAGE}/unpublish`, 'Withdraw the published version of a page', {
    write: writePage,
  }),
  listEvents: get('/v0/events', 'Read the feed of events, oldest first', {
    problems: ['cursor_expired'],
    write: writeJson,
  }),
  getEvent: get('/v0/events/{event_id}', 'Read an event', { write: writeJson }),
  createWebhookEndpoint: post(ENDPOINTS, 'Create a webhook endpoint', {
    status: 201,
    problems: ['limit_reached'],
  }),
  listWebhookEndpoints: get(ENDPOINTS, 'List the webhook endpoints, oldest first'),
  getWebhookEndpoint: get(ENDPOINT, 'Read a webhook endpoint'),
  updateWebhookEndpoint: patch(ENDPOINT, 'Change, disable or enable a webhook endpoint'),
  deleteWebhookEndpoint: remove(ENDPOINT, 'Delete a webhook endpoint'),
  rotateWebhookSecret: post(`${ENDPOINT}/rotate_secret`, 'Replace the secret of a webhook endpoint', {
    bodyOptional: true,
  }),
  testWebhookEndpoint: post(`${ENDPOINT}/test`, 'Send a webhook to an endpoint now', {
    bodyOptional: true,
    problems: ['event_not_found'],
  }),
  listDeliveries: get(DELIVERIES, 'List the deliveries of a webhook endpoint, newest event first'),
  getDelivery: get(`${DELIVERIES}/{event_id}`, 'Read a delivery with its last attempts'),
  retryDelivery: post(`${DELIVERIES}/{event_id}/retry`, 'Deliver an event again', {
    status: 202,
    problems: ['webhook_endpoint_disabled'],
  }),
  replayDeliveries: post(`${ENDPOINT}/replay`, 'Deliver the events since a time again', {
    status: 202,
    problems: ['webhook_endpoint_disabled'],
  }),
  createHook: post('/v0/hooks', 'Create a hook: an address that a vendor posts to', {
    status: 201,
    problems: ['limit_reached'],
  }),
  listHooks: get('/v0/hooks', 'List hooks, newest first'),
  getHook: get(HOOK, 'Read a hook'),
  updateHook: patch(HOOK, 'Change, disable or rotate a hook'),
  deleteHook: remove(HOOK, 'Delete a hook'),
  tryHook: post(`${HOOK}/try`, 'Try a delivery without storing it'),
  getApiKey: get('/v0/api_keys/self', 'Read the API key of this request', {
    run: async (useCases: UseCases, { tenantId, apiKeyId }: CheckedRequest<unknown, unknown>) => ({
      body: await useCases.getApiKey({ tenantId, apiKeyId }),
    }),
  }),
}

/** Whether a shape has a part that is kept as text. */
const holdsRawJson: (shape: object) => boolean = memoized(
  (shape: object) =>
    'rawJson' in shape ||
    Object.values(shape).some((part) => typeof part === 'object' && part !== null && holdsRawJson(part)),
)

const routeOf = (operationId: keyof Rows, row: Row): Route => {
  const operation: Operation = operations[operationId]
  const { query, answer, takes = {} } = operation
  const takesKey = 'idempotencyKey' in takes
  const takesRevision = 'ifRevision' in takes
  const ofIds = Object.entries(PROBLEMS_OF_IDS).flatMap(([id, found]) => (row.path.includes(id) ? found : []))
  const problems: ProblemCode[] = [
    ...(query && 'cursor' in query.entries ? (['invalid_cursor'] as const) : []),
    ...ofIds,
    ...(row.problems ?? []),
    ...(takesKey ? (['idempotency_key_reused'] as const) : []),
    ...(takesRevision ? (['precondition_failed'] as const) : []),
  ]
  const write = answer && holdsRawJson(answer) ? writeJson : JSON.stringify
  const run = runOf(operationId, row.method, operation)
  return { status: answer ? 200 : 204, write, run, ...operation, ...row, problems, operationId, takesKey }
}
const PROBLEMS_OF_IDS: Readonly<Record<string, readonly ProblemCode[]>> = {
  '/{prospect_id}': ['prospect_not_found', 'prospect_erased'],
  '/{prospect_log_id}': ['prospect_log_not_found'],
  '/{erasure_id}': ['erasure_not_found'],
  '/{page_group_id}': ['page_group_not_found'],
  '/{page_id}': ['page_not_found'],
  '/{version_id}': ['version_not_found'],
  '/events/{event_id}': ['event_not_found'],
  '/{webhook_endpoint_id}': ['webhook_endpoint_not_found'],
  '/deliveries/{event_id}': ['delivery_not_found'],
  '/{hook_id}': ['hook_not_found'],
}

/** Every operation. */
export const ROUTES: readonly Route[] = Object.entries(ROWS).map(([id, row]) =>
  routeOf(id as keyof Rows, row),
)
