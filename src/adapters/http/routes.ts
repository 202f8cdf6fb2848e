import type { UseCases } from '../../core/use-cases.ts'
import { writeJson } from '../../json/write-json.ts'
import type * as pages from '../../shapes/page.ts'
import type * as logs from '../../shapes/prospect-log.ts'
import { HOOK_ROWS } from './hook-routes.ts'
import { logBatch } from './prospect-log-batch.ts'
import { type CheckedRequest, type Route, type Rows, routeOf } from './route.ts'
import { WEBHOOK_ROWS } from './webhook-routes.ts'

const GROUP = '/v0/page_groups/{page_group_id}'
const PAGE = `${GROUP}/pages/{page_id}` as const
const VERSIONS = `${PAGE}/versions` as const
const VERSION = `${VERSIONS}/{version_id}` as const

// Only problems, and the content of a page, are JSON text. Answers without them are written faster.
const writeBatch = (batch: Partial<logs.ProspectLogBatchResult>): string =>
  batch.refused === 0 ? JSON.stringify(batch) : writeJson(batch)
const writePage = (page: Partial<pages.PageWithVersion>): string =>
  page.publishedVersion?.content ? writeJson(page) : JSON.stringify(page)

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
    summary: 'List prospects, newest first, or find one by email or external id',
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

/** Every operation. */
export const ROUTES: readonly Route[] = Object.entries(ROWS).map(([id, row]) =>
  routeOf(id as keyof Rows, row),
)
