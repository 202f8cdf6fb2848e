import { type Fault, refuse } from '../../core/failures.ts'
import { writeJson } from '../../json/write-json.ts'
import { Erasure, ErasureSlice, NewErasure } from '../../shapes/erasure.ts'
import type { RawJson } from '../../shapes/json.ts'
import { CreatedPage, NewPage, PageSlice, PageWithVersion } from '../../shapes/page.ts'
import { PageGroupQuery, PageGroupSlice } from '../../shapes/page-group.ts'
import { Prospect, ProspectChanges, ProspectQuery, ProspectSlice } from '../../shapes/prospect.ts'
import {
  NewProspectLog,
  ProspectLog,
  ProspectLogBatch,
  ProspectLogBatchResult,
  ProspectLogQuery,
  ProspectLogReceipt,
  ProspectLogSlice,
  TimelineQuery,
} from '../../shapes/prospect-log.ts'
import { SliceQuery } from '../../shapes/slice.ts'
import { logBatch } from './prospect-log-batch.ts'
import { plainRoute, type Route, route } from './route.ts'

/** Every operation. */
export const ROUTES: readonly Route[] = [
  route('POST', '/v0/prospect_logs', 'logProspectActivity', {
    summary: "Log a prospect's activity",
    scope: 'prospect_logs:write',
    body: NewProspectLog,
    answer: ProspectLogReceipt,
    status: 201,
    problems: ['prospect_not_found', 'prospect_erased', 'idempotency_key_reused'],
    run: async ({ logProspectActivity }, { tenantId, body, members, idempotencyKey }) => {
      const key = oneKey(body.idempotencyKey, idempotencyKey)
      const payload = members.get('payload') as RawJson
      const activity = { ...body, ...(key !== undefined && { idempotencyKey: key }), tenantId, payload }
      const { receipt, replayed } = await logProspectActivity(activity)
      return { body: receipt, replayed }
    },
  }),
  route('POST', '/v0/prospect_logs/batch', 'logProspectActivities', {
    summary: 'Log up to 1,000 activities',
    scope: 'prospect_logs:write',
    body: ProspectLogBatch,
    isBatch: true,
    answer: ProspectLogBatchResult,
    write: writeJson,
    status: 201,
    problems: [],
    run: logBatch,
  }),
  plainRoute('GET', '/v0/prospects', 'listProspects', {
    summary: 'List prospects, newest first, or find one by email',
    scope: 'prospects:read',
    query: ProspectQuery,
    answer: ProspectSlice,
    problems: ['invalid_cursor'],
  }),
  plainRoute('GET', '/v0/prospects/{prospect_id}', 'getProspect', {
    summary: 'Read a prospect',
    scope: 'prospects:read',
    answer: Prospect,
    problems: ['prospect_not_found', 'prospect_erased'],
  }),
  plainRoute('PATCH', '/v0/prospects/{prospect_id}', 'updateProspect', {
    summary: 'Correct the email or the name of a prospect',
    scope: 'prospects:write',
    body: ProspectChanges,
    answer: Prospect,
    problems: ['prospect_not_found', 'prospect_erased', 'email_taken'],
  }),
  plainRoute('GET', '/v0/prospects/{prospect_id}/prospect_logs', 'listTimeline', {
    summary: 'List the activities of a prospect, newest first by when they happened',
    scope: 'prospect_logs:read',
    query: TimelineQuery,
    answer: ProspectLogSlice,
    write: writeJson,
    problems: ['invalid_cursor', 'prospect_not_found', 'prospect_erased'],
  }),
  plainRoute('GET', '/v0/prospect_logs', 'listProspectLogs', {
    summary: 'List activities, newest first by when they arrived, or find one by its idempotency key',
    scope: 'prospect_logs:read',
    query: ProspectLogQuery,
    answer: ProspectLogSlice,
    write: writeJson,
    problems: ['invalid_cursor'],
  }),
  plainRoute('GET', '/v0/prospect_logs/{prospect_log_id}', 'getProspectLog', {
    summary: 'Read an activity',
    scope: 'prospect_logs:read',
    answer: ProspectLog,
    write: writeJson,
    problems: ['prospect_log_not_found'],
  }),
  plainRoute('POST', '/v0/erasures', 'eraseProspect', {
    summary: 'Erase a person',
    scope: 'prospects:erase',
    body: NewErasure,
    answer: Erasure,
    status: 202,
    problems: ['prospect_not_found', 'prospect_erased'],
  }),
  plainRoute('GET', '/v0/erasures', 'listErasures', {
    summary: 'List erasures, newest first',
    scope: 'prospects:erase',
    query: SliceQuery,
    answer: ErasureSlice,
    problems: ['invalid_cursor'],
  }),
  plainRoute('GET', '/v0/erasures/{erasure_id}', 'getErasure', {
    summary: 'Read an erasure',
    scope: 'prospects:erase',
    answer: Erasure,
    problems: ['erasure_not_found'],
  }),
  plainRoute('GET', '/v0/page_groups', 'listPageGroups', {
    summary: 'List page groups, newest first',
    scope: 'page_groups:read',
    query: PageGroupQuery,
    answer: PageGroupSlice,
    write: writeJson,
    problems: ['invalid_cursor'],
  }),
  plainRoute('GET', '/v0/page_groups/{page_group_id}/pages', 'listPages', {
    summary: 'List the pages of a page group, newest first',
    scope: 'pages:read',
    query: SliceQuery,
    answer: PageSlice,
    problems: ['invalid_cursor', 'page_group_not_found'],
  }),
  plainRoute('GET', '/v0/page_groups/{page_group_id}/pages/{page_id}', 'getPage', {
    summary: 'Read a page with its published version',
    scope: 'pages:read',
    answer: PageWithVersion,
    problems: ['page_group_not_found', 'page_not_found'],
  }),
  route('POST', '/v0/page_groups/{page_group_id}/pages', 'createPageWithVersion', {
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
