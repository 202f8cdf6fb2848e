import { writeJson } from '../../json/write-json.ts'
import { Prospect, ProspectChanges, ProspectQuery, ProspectSlice } from '../../shapes/prospect.ts'
import { ProspectLog, ProspectLogQuery, ProspectLogSlice, TimelineQuery } from '../../shapes/prospect-log.ts'
import { type Route, route } from './route.ts'

export const prospectRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v0/prospects',
    operationId: 'listProspects',
    summary: 'List prospects, newest first, or find one by email',
    scope: 'prospects:read',
    query: ProspectQuery,
    answer: ProspectSlice,
    status: 200,
    problems: ['invalid_cursor'],
    run: async ({ listProspects }, { tenantId, query }) => ({
      body: await listProspects({ ...query, tenantId }),
    }),
  }),
  route({
    method: 'GET',
    path: '/v0/prospects/{prospect_id}',
    operationId: 'getProspect',
    summary: 'Read a prospect',
    scope: 'prospects:read',
    answer: Prospect,
    status: 200,
    problems: ['prospect_not_found', 'prospect_erased'],
    run: async ({ getProspect }, { tenantId, params }) => ({
      body: await getProspect({ tenantId, prospectId: params['prospect_id'] ?? '' }),
    }),
  }),
  route({
    method: 'PATCH',
    path: '/v0/prospects/{prospect_id}',
    operationId: 'updateProspect',
    summary: 'Correct the email or the name of a prospect',
    scope: 'prospects:write',
    body: ProspectChanges,
    answer: Prospect,
    status: 200,
    problems: ['prospect_not_found', 'prospect_erased', 'email_taken'],
    run: async ({ updateProspect }, { tenantId, params, body }) => ({
      body: await updateProspect({ ...body, tenantId, prospectId: params['prospect_id'] ?? '' }),
    }),
  }),
  route({
    method: 'GET',
    path: '/v0/prospects/{prospect_id}/prospect_logs',
    operationId: 'listTimeline',
    summary: 'List the activities of a prospect, newest first by when they happened',
    scope: 'prospect_logs:read',
    query: TimelineQuery,
    answer: ProspectLogSlice,
    write: writeJson,
    status: 200,
    problems: ['invalid_cursor', 'prospect_not_found', 'prospect_erased'],
    run: async ({ listTimeline }, { tenantId, params, query }) => ({
      body: await listTimeline({ ...query, tenantId, prospectId: params['prospect_id'] ?? '' }),
    }),
  }),
  route({
    method: 'GET',
    path: '/v0/prospect_logs',
    operationId: 'listProspectLogs',
    summary: 'List activities, newest first by when they arrived, or find one by its idempotency key',
    scope: 'prospect_logs:read',
    query: ProspectLogQuery,
    answer: ProspectLogSlice,
    write: writeJson,
    status: 200,
    problems: ['invalid_cursor'],
    run: async ({ listProspectLogs }, { tenantId, query }) => ({
      body: await listProspectLogs({ ...query, tenantId }),
    }),
  }),
  route({
    method: 'GET',
    path: '/v0/prospect_logs/{prospect_log_id}',
    operationId: 'getProspectLog',
    summary: 'Read an activity',
    scope: 'prospect_logs:read',
    answer: ProspectLog,
    write: writeJson,
    status: 200,
    problems: ['prospect_log_not_found'],
    run: async ({ getProspectLog }, { tenantId, params }) => ({
      body: await getProspectLog({ tenantId, prospectLogId: params['prospect_log_id'] ?? '' }),
    }),
  }),
]
