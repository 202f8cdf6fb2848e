import { type Fault, refuse } from '../../core/failures.ts'
import { writeJson } from '../../json/write-json.ts'
import * as erasures from '../../shapes/erasure.ts'
import * as pages from '../../shapes/page.ts'
import * as groups from '../../shapes/page-group.ts'
import * as prospects from '../../shapes/prospect.ts'
import * as logs from '../../shapes/prospect-log.ts'
import { SliceQuery } from '../../shapes/slice.ts'
import { logBatch } from './prospect-log-batch.ts'
import { plainRoute, type Route, route } from './route.ts'
import { WEBHOOK_ROUTES } from './webhook-routes.ts'

const GROUP = '/v0/page_groups/{page_group_id}'
const PAGE = `${GROUP}/pages/{page_id}` as const
const VERSIONS = `${PAGE}/versions` as const
const VERSION = `${VERSIONS}/{version_id}` as const
const NO_PAGE = ['page_group_not_found', 'page_not_found'] as const
const NO_VERSION = [...NO_PAGE, 'version_not_found'] as const

/** Only a page with content contains JSON text. */
const writePage = (page: Partial<pages.PageWithVersion>): string =>
  page.publishedVersion?.content ? writeJson(page) : JSON.stringify(page)
const GROUP_ANSWER = { answer: groups.PageGroup, member: 'pageGroup', write: writeJson } as const
const PAGE_ANSWER = { answer: pages.PageWithVersion, member: 'page', write: writePage } as const

/** Every operation. */
export const ROUTES: readonly Route[] = [
  route('POST', '/v0/prospect_logs', 'logProspectActivity', {
    summary: "Log a prospect's activity",
    scope: 'prospect_logs:write',
    body: logs.NewProspectLog,
    answer: logs.ProspectLogReceipt,
    status: 201,
    problems: ['prospect_not_found', 'prospect_erased', 'idempotency_key_reused'],
    run: async ({ logProspectActivity }, { tenantId, apiKeyId, body, idempotencyKey }) => {
      const key = oneKey(body.idempotencyKey, idempotencyKey)
      const activity = { ...body, ...(key !== undefined && { idempotencyKey: key }), tenantId, apiKeyId }
      const { receipt, replayed } = await logProspectActivity(activity)
      return { body: receipt, replayed }
    },
  }),
  route('POST', '/v0/prospect_logs/batch', 'logProspectActivities', {
    summary: 'Log up to 1,000 activities',
    scope: 'prospect_logs:write',
    body: logs.ProspectLogBatch,
    isBatch: true,
    answer: logs.ProspectLogBatchResult,
    write: writeJson,
    status: 201,
    problems: [],
    run: logBatch,
  }),
  plainRoute('GET', '/v0/prospects', 'listProspects', {
    summary: 'List prospects, newest first, or find one by email',
    scope: 'prospects:read',
    query: prospects.ProspectQuery,
    answer: prospects.ProspectSlice,
    problems: ['invalid_cursor'],
  }),
  plainRoute('GET', '/v0/prospects/{prospect_id}', 'getProspect', {
    summary: 'Read a prospect',
    scope: 'prospects:read',
    answer: prospects.Prospect,
    problems: ['prospect_not_found', 'prospect_erased'],
  }),
  plainRoute('PATCH', '/v0/prospects/{prospect_id}', 'updateProspect', {
    summary: 'Correct the email or the name of a prospect',
    scope: 'prospects:write',
    body: prospects.ProspectChanges,
    answer: prospects.Prospect,
    problems: ['prospect_not_found', 'prospect_erased', 'email_taken'],
  }),
  plainRoute('GET', '/v0/prospects/{prospect_id}/prospect_logs', 'listTimeline', {
    summary: 'List the activities of a prospect, newest first by when they happened',
    scope: 'prospect_logs:read',
    query: logs.TimelineQuery,
    answer: logs.ProspectLogSlice,
    write: writeJson,
    problems: ['invalid_cursor', 'prospect_not_found', 'prospect_erased'],
  }),
  plainRoute('GET', '/v0/prospect_logs', 'listProspectLogs', {
    summary: 'List activities, newest first by when they arrived, or find one by its idempotency key',
    scope: 'prospect_logs:read',
    query: logs.ProspectLogQuery,
    answer: logs.ProspectLogSlice,
    write: writeJson,
    problems: ['invalid_cursor'],
  }),
  plainRoute('GET', '/v0/prospect_logs/{prospect_log_id}', 'getProspectLog', {
    summary: 'Read an activity',
    scope: 'prospect_logs:read',
    answer: logs.ProspectLog,
    write: writeJson,
    problems: ['prospect_log_not_found'],
  }),
  plainRoute('POST', '/v0/erasures', 'eraseProspect', {
    summary: 'Erase a person',
    scope: 'prospects:erase',
    body: erasures.NewErasure,
    answer: erasures.Erasure,
    status: 202,
    problems: ['prospect_not_found', 'prospect_erased'],
  }),
  plainRoute('GET', '/v0/erasures', 'listErasures', {
    summary: 'List erasures, newest first',
    scope: 'prospects:erase',
    query: SliceQuery,
    answer: erasures.ErasureSlice,
    problems: ['invalid_cursor'],
  }),
  plainRoute('GET', '/v0/erasures/{erasure_id}', 'getErasure', {
    summary: 'Read an erasure',
    scope: 'prospects:erase',
    answer: erasures.Erasure,
    problems: ['erasure_not_found'],
  }),
  plainRoute('GET', '/v0/page_groups', 'listPageGroups', {
    summary: 'List page groups, newest first',
    scope: 'page_groups:read',
    query: groups.PageGroupQuery,
    answer: groups.PageGroupSlice,
    write: writeJson,
    problems: ['invalid_cursor'],
  }),
  plainRoute('POST', '/v0/page_groups', 'createPageGroup', {
    summary: 'Create a page group',
    scope: 'page_groups:write',
    body: groups.NewPageGroup,
    ...GROUP_ANSWER,
    status: 201,
    problems: ['idempotency_key_reused'],
  }),
  plainRoute('GET', GROUP, 'getPageGroup', {
    summary: 'Read a page group',
    scope: 'page_groups:read',
    ...GROUP_ANSWER,
    problems: ['page_group_not_found'],
  }),
  plainRoute('PATCH', GROUP, 'updatePageGroup', {
    summary: 'Change or archive a page group',
    scope: 'page_groups:write',
    body: groups.PageGroupChanges,
    ...GROUP_ANSWER,
    problems: ['page_group_not_found', 'precondition_failed'],
  }),
  plainRoute('DELETE', GROUP, 'deletePageGroup', {
    summary: 'Delete a page group',
    scope: 'page_groups:write',
    status: 204,
    problems: ['page_group_not_found', 'precondition_failed'],
  }),
  plainRoute('GET', `${GROUP}/pages`, 'listPages', {
    summary: 'List the pages of a page group, newest first',
    scope: 'pages:read',
    query: SliceQuery,
    answer: pages.PageSlice,
    problems: ['invalid_cursor', 'page_group_not_found'],
  }),
  plainRoute('POST', `${GROUP}/pages`, 'createPageWithVersion', {
    summary: 'Create a page and its first version',
    scope: 'pages:write',
    body: pages.NewPage,
    bodyOptional: true,
    answer: pages.CreatedPage,
    member: 'page',
    status: 201,
    problems: ['page_group_not_found', 'page_group_not_active', 'idempotency_key_reused'],
  }),
  plainRoute('GET', PAGE, 'getPage', {
    summary: 'Read a page with its published version',
    scope: 'pages:read',
    ...PAGE_ANSWER,
    problems: NO_PAGE,
  }),
  plainRoute('PATCH', PAGE, 'updatePage', {
    summary: 'Rename a page',
    scope: 'pages:write',
    body: pages.PageChanges,
    ...PAGE_ANSWER,
    problems: [...NO_PAGE, 'precondition_failed'],
  }),
  plainRoute('DELETE', PAGE, 'deletePage', {
    summary: 'Delete a page with its versions',
    scope: 'pages:write',
    status: 204,
    problems: [...NO_PAGE, 'precondition_failed'],
  }),
  plainRoute('GET', VERSIONS, 'listVersions', {
    summary: 'List the versions of a page, newest first',
    scope: 'pages:read',
    query: SliceQuery,
    answer: pages.VersionSlice,
    problems: ['invalid_cursor', ...NO_PAGE],
  }),
  plainRoute('POST', VERSIONS, 'createVersion', {
    summary: 'Create a version of a page',
    scope: 'pages:write',
    body: pages.NewVersion,
    bodyOptional: true,
    answer: pages.CreatedVersion,
    member: 'version',
    status: 201,
    problems: [...NO_PAGE, 'page_group_not_active', 'limit_reached', 'idempotency_key_reused'],
  }),
  plainRoute('GET', VERSION, 'getVersion', {
    summary: 'Read a version with its content',
    scope: 'pages:read',
    answer: pages.VersionWithContent,
    write: writeJson,
    problems: NO_VERSION,
  }),
  plainRoute('POST', `${VERSION}/publish`, 'publishVersion', {
    summary: 'Publish a version, even an older one',
    scope: 'pages:write',
    ...PAGE_ANSWER,
    problems: [...NO_VERSION, 'version_not_ready', 'page_group_not_active', 'precondition_failed'],
  }),
  plainRoute('POST', `${PAGE}/unpublish`, 'unpublishPage', {
    summary: 'Withdraw the published version of a page',
    scope: 'pages:write',
    ...PAGE_ANSWER,
    problems: [...NO_PAGE, 'precondition_failed'],
  }),
  ...WEBHOOK_ROUTES,
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
