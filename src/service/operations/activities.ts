import { idempotent } from '../../shapes/input.ts'
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
import { ProspectLogCountQuery, ProspectLogCounts } from '../../shapes/prospect-log-count.ts'
import { get, post } from './operation.ts'

export const activityOperations = {
  /** Logs one activity, for the prospect with this id, else with this external id, else with this email, else a new one. */
  logProspectActivity: post('/v0/prospect_logs', {
    summary: "Log a prospect's activity",
    scope: 'prospect_logs:write',
    body: NewProspectLog,
    takes: idempotent,
    answer: ProspectLogReceipt,
    status: 201,
    problems: ['prospect_not_found', 'prospect_erased'],
  }),
  /**
   * Logs many, in order. Returns for each its result or its `DomainFailure`; one failure affects no other, but after
   * `unavailable` the rest is not tried.
   */
  logProspectActivities: post('/v0/prospect_logs/batch', {
    summary: 'Log up to 1,000 activities',
    scope: 'prospect_logs:write',
    item: NewProspectLog,
    body: ProspectLogBatch,
    answer: ProspectLogBatchResult,
    status: 201,
  }),
  /** Lists the activities of a tenant, newest first in the order of arrival. */
  listProspectLogs: get('/v0/prospect_logs', {
    summary: 'List activities, newest first by when they arrived, or find one by its idempotency key',
    scope: 'prospect_logs:read',
    query: ProspectLogQuery,
    answer: ProspectLogSlice,
  }),
  /** Reads an activity with its payload. */
  getProspectLog: get('/v0/prospect_logs/{prospect_log_id}', {
    summary: 'Read an activity',
    scope: 'prospect_logs:read',
    answer: ProspectLog,
  }),
  /** Lists the activities of a prospect, newest first by `occurredAt`. */
  listTimeline: get('/v0/prospects/{prospect_id}/prospect_logs', {
    summary: 'List the activities of a prospect, newest first by when they happened',
    scope: 'prospect_logs:read',
    query: TimelineQuery,
    answer: ProspectLogSlice,
  }),
  /** Lists how many activities arrived in each hour or day. `startBackground` of `prospect-pages/publisher` counts them. */
  listProspectLogCounts: get('/v0/prospect_log_counts', {
    summary: 'Count activities by hour or day, source and type',
    scope: 'prospect_logs:read',
    query: ProspectLogCountQuery,
    answer: ProspectLogCounts,
    problems: ['not_found'],
  }),
}
