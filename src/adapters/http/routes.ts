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

// Only a problem is JSON text, and the content of a page. Without them answers are written faster.
const writeBatch = (batch: Partial<logs.ProspectLogBatchResult>): string =>
  batch.refused === 0 ? JSON.stringify(batch) : writeJson(batch)
const writePage = (page: Partial<pages.PageWithVersion>): string =>
  page.publishedVersion?.content ? writeJson(page) : JSON.stringify(page)
const PAGE_ANSWER = { answer: pages.PageWithVersion, write: writePage } as const

/** Every operation. */
export const ROUTES: readonly Route[] = [
  route('POST', '/v0/prospect_logs', 'logProspectActivity', 'prospect_logs:write', {
    summary: "Log a prospect's activity",
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
  route('POST', '/v0/prospect_logs/batch', 'logProspectActivities', 'prospect_logs:write', {
    summary: 'Log up to 1,000 activities',
    body: logs.ProspectLogBatch,
    isBatch: true,
    answer: logs.ProspectLogBatchResult,
    write: writeBatch,
    status: 201,
    run: logBatch,
  }),
  plainRoute('GET', '/v0/prospects', 'listProspects', 'prospects:read', {
    summary: 'List prospects, newest first, or find one by email',
    query: prospects.ProspectQuery,
    answer: prospects.ProspectSlice,
  }),
  plainRoute('GET', '/v0/prospects/{prospect_id}', 'getProspect', 'prospects:read', {
    summary: 'Read a prospect',
    answer: prospects.Prospect,
  }),
  plainRoute('PATCH', '/v0/prospects/{prospect_id}', 'updateProspect', 'prospects:write', {
    summary: 'Correct the email or the name of a prospect',
    body: prospects.ProspectChanges,
    answer: prospects.Prospect,
    problems: ['email_taken'],
  }),
  plainRoute('GET', '/v0/prospects/{prospect_id}/prospect_logs', 'listTimeline', 'prospect_logs:read', {
    summary: 'List the activities of a prospect, newest first by when they happened',
    query: logs.TimelineQuery,
    answer: logs.ProspectLogSlice,
  }),
  plainRoute('GET', '/v0/prospect_logs', 'listProspectLogs', 'prospect_logs:read', {
    summary: 'List activities, newest first by when they arrived, or find one by its idempotency key',
    query: logs.ProspectLogQuery,
    answer: logs.ProspectLogSlice,
  }),
  plainRoute('GET', '/v0/prospect_logs/{prospect_log_id}', 'getProspectLog', 'prospect_logs:read', {
    summary: 'Read an activity',
    answer: logs.ProspectLog,
  }),
  plainRoute('POST', '/v0/erasures', 'eraseProspect', 'prospects:erase', {
    summary: 'Erase a person',
    body: erasures.NewErasure,
    answer: erasures.Erasure,
    status: 202,
    problems: ['prospect_not_found', 'prospect_erased'],
  }),
  plainRoute('GET', '/v0/erasures', 'listErasures', 'prospects:erase', {
    summary: 'List erasures, newest first',
    query: SliceQuery,
    answer: erasures.ErasureSlice,
  }),
  plainRoute('GET', '/v0/erasures/{erasure_id}', 'getErasure', 'prospects:erase', {
    summary: 'Read an erasure',
    answer: erasures.Erasure,
  }),
  plainRoute('POST', '/v0/erasures/{erasure_id}/unblock', 'unblockErasure', 'prospects:erase', {
    summary: 'Lift the block of an erased email',
    answer: erasures.Erasure,
  }),
  plainRoute('GET', '/v0/page_groups', 'listPageGroups', 'page_groups:read', {
    summary: 'List page groups, newest first',
    query: groups.PageGroupQuery,
    answer: groups.PageGroupSlice,
  }),
  plainRoute('POST', '/v0/page_groups', 'createPageGroup', 'page_groups:write', {
    summary: 'Create a page group',
    body: groups.NewPageGroup,
    answer: groups.PageGroup,
    status: 201,
    problems: ['idempotency_key_reused'],
  }),
  plainRoute('GET', GROUP, 'getPageGroup', 'page_groups:read', {
    summary: 'Read a page group',
    answer: groups.PageGroup,
  }),
  plainRoute('PATCH', GROUP, 'updatePageGroup', 'page_groups:write', {
    summary: 'Change or archive a page group',
    body: groups.PageGroupChanges,
    answer: groups.PageGroup,
    problems: ['precondition_failed'],
  }),
  plainRoute('DELETE', GROUP, 'deletePageGroup', 'page_groups:write', {
    summary: 'Delete a page group',
    problems: ['precondition_failed'],
  }),
  plainRoute('GET', `${GROUP}/pages`, 'listPages', 'pages:read', {
    summary: 'List the pages of a page group, newest first',
    query: SliceQuery,
    answer: pages.PageSlice,
  }),
  plainRoute('POST', `${GROUP}/pages`, 'createPageWithVersion', 'pages:write', {
    summary: 'Create a page and its first version',
    body: pages.NewPage,
    bodyOptional: true,
    answer: pages.CreatedPage,
    status: 201,
    problems: ['page_group_not_active', 'idempotency_key_reused'],
  }),
  plainRoute('GET', PAGE, 'getPage', 'pages:read', {
    summary: 'Read a page with its published version',
    ...PAGE_ANSWER,
  }),
  plainRoute('PATCH', PAGE, 'updatePage', 'pages:write', {
    summary: 'Rename a page',
    body: pages.PageChanges,
    ...PAGE_ANSWER,
    problems: ['precondition_failed'],
  }),
  plainRoute('DELETE', PAGE, 'deletePage', 'pages:write', {
    summary: 'Delete a page with its versions',
    problems: ['precondition_failed'],
  }),
  plainRoute('GET', VERSIONS, 'listVersions', 'pages:read', {
    summary: 'List the versions of a page, newest first',
    query: SliceQuery,
    answer: pages.VersionSlice,
  }),
  plainRoute('POST', VERSIONS, 'createVersion', 'pages:write', {
    summary: 'Create a version of a page',
    body: pages.NewVersion,
    bodyOptional: true,
    answer: pages.CreatedVersion,
    status: 201,
    problems: ['page_group_not_active', 'limit_reached', 'idempotency_key_reused'],
  }),
  plainRoute('GET', VERSION, 'getVersion', 'pages:read', {
    summary: 'Read a version with its content',
    answer: pages.VersionWithContent,
  }),
  plainRoute('POST', `${VERSION}/publish`, 'publishVersion', 'pages:write', {
    summary: 'Publish a version, even an older one',
    ...PAGE_ANSWER,
    problems: ['version_not_ready', 'page_group_not_active', 'precondition_failed'],
  }),
  plainRoute('POST', `${PAGE}/unpublish`, 'unpublishPage', 'pages:write', {
    summary: 'Withdraw the published version of a page',
    ...PAGE_ANSWER,
    problems: ['precondition_failed'],
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
