import type { ProblemCode } from '../../core/engine/failures.ts'
import { type Operation, operations } from '../../core/operations.ts'
import type { UseCases } from '../../core/use-cases.ts'
import { writeJson } from '../../json/write-json.ts'
import { HOOK_ROWS } from './hook-routes.ts'
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
import { WEBHOOK_ROWS } from './webhook-routes.ts'

const GROUP = '/v0/page_groups/{page_group_id}'
const PAGE = `${GROUP}/pages/{page_id}` as const
const VERSIONS = `${PAGE}/versions` as const
const VERSION = `${VERSIONS}/{version_id}` as const

const ROWS: Rows = {
  logProspectActivity: {
    method: 'POST',
    path: '/v0/prospect_logs',
    summary: "Log a prospect's activity",
    status: 201,
    problems: ['prospect_not_found', 'prospect_erased'],
  },
  logProspectActivities: {
    method: 'POST',
    path: '/v0/prospect_logs/batch',
    summary: 'Log up to 1,000 activities',
    status: 201,
    write: writeBatch,
    run: logBatch,
  },
  createProspect: {
    method: 'POST',
    path: '/v0/prospects',
    summary: 'Create a prospect, or find the one that exists and fill its blanks',
    status: 201,
    problems: ['prospect_erased'],
  },
  listProspects: {
    method: 'GET',
    path: '/v0/prospects',
    summary: 'List prospects, newest first, search them, or find one by email or external id',
  },
  getProspect: { method: 'GET', path: '/v0/prospects/{prospect_id}', summary: 'Read a prospect' },
  updateProspect: {
    method: 'PATCH',
    path: '/v0/prospects/{prospect_id}',
    summary: 'Correct the email, the external id or the name of a prospect',
    problems: ['email_taken', 'external_id_taken'],
  },
  mergeProspect: {
    method: 'POST',
    path: '/v0/prospects/{prospect_id}/merge',
    summary: 'Merge a prospect into another one',
    problems: ['limit_reached'],
  },
  listTimeline: {
    method: 'GET',
    path: '/v0/prospects/{prospect_id}/prospect_logs',
    summary: 'List the activities of a prospect, newest first by when they happened',
  },
  exportProspect: {
    method: 'GET',
    path: '/v0/prospects/{prospect_id}/export',
    summary: 'Download everything about a prospect',
  },
  listProspectLogs: {
    method: 'GET',
    path: '/v0/prospect_logs',
    summary: 'List activities, newest first by when they arrived, or find one by its idempotency key',
  },
  getProspectLog: { method: 'GET', path: '/v0/prospect_logs/{prospect_log_id}', summary: 'Read an activity' },
  listProspectLogCounts: {
    method: 'GET',
    path: '/v0/prospect_log_counts',
    summary: 'Count activities by hour or day, source and type',
    problems: ['not_found'],
  },
  eraseProspect: {
    method: 'POST',
    path: '/v0/erasures',
    summary: 'Erase a person',
    status: 202,
    problems: ['prospect_not_found', 'prospect_erased'],
  },
  listErasures: { method: 'GET', path: '/v0/erasures', summary: 'List erasures, newest first' },
  getErasure: { method: 'GET', path: '/v0/erasures/{erasure_id}', summary: 'Read an erasure' },
  unblockErasure: {
    method: 'POST',
    path: '/v0/erasures/{erasure_id}/unblock',
    summary: 'Lift the block of an erased email and external id',
  },
  listPageGroups: { method: 'GET', path: '/v0/page_groups', summary: 'List page groups, newest first' },
  createPageGroup: { method: 'POST', path: '/v0/page_groups', summary: 'Create a page group', status: 201 },
  getPageGroup: { method: 'GET', path: GROUP, summary: 'Read a page group' },
  updatePageGroup: { method: 'PATCH', path: GROUP, summary: 'Change or archive a page group' },
  deletePageGroup: { method: 'DELETE', path: GROUP, summary: 'Delete a page group' },
  listPages: {
    method: 'GET',
    path: `${GROUP}/pages`,
    summary: 'List the pages of a page group, newest first',
  },
  createPageWithVersion: {
    method: 'POST',
    path: `${GROUP}/pages`,
    summary: 'Create a page and its first version',
    status: 201,
    problems: ['page_group_not_active'],
    bodyOptional: true,
  },
  getPage: { method: 'GET', path: PAGE, summary: 'Read a page with its published version', write: writePage },
  updatePage: {
    method: 'PATCH',
    path: PAGE,
    summary: 'Rename a page, or set when it is unpublished',
    write: writePage,
  },
  deletePage: { method: 'DELETE', path: PAGE, summary: 'Delete a page with its versions' },
  listVersions: { method: 'GET', path: VERSIONS, summary: 'List the versions of a page, newest first' },
  createVersion: {
    method: 'POST',
    path: VERSIONS,
    summary: 'Create a version of a page',
    status: 201,
    problems: ['page_group_not_active', 'limit_reached'],
    bodyOptional: true,
  },
  getVersion: { method: 'GET', path: VERSION, summary: 'Read a version with its content' },
  publishVersion: {
    method: 'POST',
    path: `${VERSION}/publish`,
    summary: 'Publish a version, even an older one, now or later',
    problems: ['version_not_ready', 'page_group_not_active', 'limit_reached'],
    write: writePage,
    bodyOptional: true,
  },
  unscheduleVersion: {
    method: 'POST',
    path: `${VERSION}/unschedule`,
    summary: 'End the schedule of a version',
    problems: ['version_not_ready'],
  },
  unpublishPage: {
    method: 'POST',
    path: `${PAGE}/unpublish`,
    summary: 'Withdraw the published version of a page',
    write: writePage,
  },
  ...WEBHOOK_ROWS,
  ...HOOK_ROWS,
  getApiKey: {
    method: 'GET',
    path: '/v0/api_keys/self',
    summary: 'Read the API key of this request',
    run: async (useCases: UseCases, { tenantId, apiKeyId }: CheckedRequest<unknown, unknown>) => ({
      body: await useCases.getApiKey({ tenantId, apiKeyId }),
    }),
  },
}

const routeOf = (operationId: keyof Rows, row: Row): Route => {
  const operation: Operation = operations[operationId]
  const { query, answer, takes = {} } = operation
  const [takesKey, takesRevision] = ['idempotencyKey' in takes, 'ifRevision' in takes]
  const ofIds = Object.entries(PROBLEMS_OF_IDS).flatMap(([id, found]) => (row.path.includes(id) ? found : []))
  const problems: ProblemCode[] = [
    ...(query && 'cursor' in query.entries ? (['invalid_cursor'] as const) : []),
    ...ofIds,
    ...(row.problems ?? []),
    ...(takesKey ? (['idempotency_key_reused'] as const) : []),
    ...(takesRevision ? (['precondition_failed'] as const) : []),
  ]
  const write = JSON.stringify(answer ?? {}).includes('"rawJson"') ? writeJson : JSON.stringify
  const run = runOf(operationId, row.method, takes)
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
