import { getProspectLog } from '../../core/activities/get-prospect-log.ts'
import { listProspectLogs } from '../../core/activities/list-prospect-logs.ts'
import { listTimeline } from '../../core/activities/list-timeline.ts'
import { logProspectActivities } from '../../core/activities/log-prospect-activities.ts'
import { logProspectActivity } from '../../core/activities/log-prospect-activity.ts'
import { listProspectLogCounts } from '../../core/counts/list-prospect-log-counts.ts'
import { idempotent, inMode } from '../../shapes/input.ts'
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
import * as example from './examples.ts'
import { FOUR_BODIES, get, ONE_BODY, post } from './operation.ts'

export const activityOperations = {
  /** Logs one activity, for the prospect with this id, else with this external id, else with this email, else a new one. */
  logProspectActivity: post(
    '/v0/prospect_logs',
    {
      summary: "Log a prospect's activity",
      scope: 'prospect_logs:write',
      needs: ['activities'],
      useCase: logProspectActivity,
      body: NewProspectLog,
      takes: { ...idempotent, ...inMode },
      answer: ProspectLogReceipt,
      status: 201,
      hopsMax: 1,
      problems: ['prospect_not_found', 'prospect_erased'],
    },
    {
      description:
        'Stores an activity. It belongs to the prospect with this `prospectId`, otherwise to the one with this `externalId`, otherwise to the one with this `email`, otherwise to a new prospect. If `externalId` and `email` belong to two prospects, it belongs to the one with the `externalId`, neither prospect changes, and `GET /v0/prospect_conflicts` lists the two.',
      done: 'The activity was stored. A retry with the same idempotency key returns the same answer.',
      requests: {
        by_email: {
          summary: 'Find or create the prospect by email',
          value: {
            source: 'crm',
            type: 'form_submitted',
            email: 'ada@example.com',
            name: 'Ada Lovelace',
            attributes: { company: 'Analytical Engines' },
            payload: { form: 'contact', answers: { company: 'Analytical Engines' } },
          },
        },
        repeatable: {
          summary: 'With an idempotency key in the body',
          value: { source: 'crm', payload: { form: 'contact' }, idempotencyKey: 'crm-4711' },
        },
        known_prospect: {
          summary: 'For a known prospect, with the time when it happened',
          value: {
            source: 'shop',
            prospectId: example.PROSPECT_ID,
            payload: { cart: ['book'] },
            occurredAt: '2026-11-22T09:00:00+01:00',
          },
        },
      },
      answers: {
        new_prospect: {
          summary: 'A new prospect was created',
          value: example.RECEIPT,
        },
      },
      fault: { detail: 'is required', pointer: '/payload' },
      firstCreated: { prospectLogId: example.LOG_ID },
    },
  ),
  /**
   * Logs many, in order. Returns for each its result or its `DomainFailure`; one failure affects no other, but after
   * `unavailable` the rest is not tried.
   */
  logProspectActivities: post(
    '/v0/prospect_logs/batch',
    {
      summary: 'Log up to 1,000 activities',
      scope: 'prospect_logs:write',
      needs: ['activities'],
      useCase: logProspectActivities,
      item: NewProspectLog,
      takes: inMode,
      body: ProspectLogBatch,
      answer: ProspectLogBatchResult,
      status: 201,
    },
    {
      description: `Stores 1 to 1,000 activities in the order in which they are sent: an item finds the prospect that an item before it created. Each
item is the body of a single request and has its own result. Idempotency is per item: give each its \`idempotencyKey\`, and retry
those refused with 503. All items together may take 8 MiB unless the server sets another limit. A batch counts as its items against the rate limit.`,
      done: 'Every activity is stored.',
      also: {
        status: 207,
        done: 'At least one item was refused: its `status` and `problem` are those of a single request. The others are stored.',
        answers: {
          some_refused: {
            summary: 'One of two items was refused',
            value: {
              items: [
                { status: 201, prospectLog: example.RECEIPT, replayed: false },
                {
                  status: 400,
                  problem: {
                    type: '/problems/invalid_request',
                    title: 'Invalid request',
                    status: 400,
                    detail: 'The request is invalid. See `errors`.',
                    instance: '0b9e5a52-6c0f-4b0b-9d6f-2f2f6f1f9a11',
                    code: 'invalid_request',
                    errors: [{ detail: 'is required', pointer: '/payload' }],
                  },
                },
              ],
              accepted: 1,
              refused: 1,
            },
          },
        },
      },
      requests: {
        two: {
          summary: 'Two activities of one person',
          value: {
            items: [
              {
                source: 'crm',
                email: 'ada@example.com',
                payload: { form: 'contact' },
                idempotencyKey: 'crm-4711',
              },
              {
                source: 'crm',
                email: 'ada@example.com',
                payload: { form: 'offer' },
                idempotencyKey: 'crm-4712',
              },
            ],
          },
        },
      },
      answers: {
        all_accepted: {
          summary: 'The only item was stored',
          value: {
            items: [{ status: 201, prospectLog: example.RECEIPT, replayed: false }],
            accepted: 1,
            refused: 0,
          },
        },
      },
      fault: { detail: 'must have 1 to 1,000 items', pointer: '/items' },
    },
  ),
  /** Lists the activities of a tenant, newest first in the order of arrival. */
  listProspectLogs: get(
    '/v0/prospect_logs',
    {
      summary: 'List activities, newest first by when they arrived, or find those of an idempotency key',
      scope: 'prospect_logs:read',
      needs: ['prospectLogs'],
      useCase: listProspectLogs,
      query: ProspectLogQuery,
      answer: ProspectLogSlice,
      answerBytesMax: ONE_BODY,
    },
    {
      description:
        'Returns the activities of the tenant in the order of their arrival, one slice at a time. `since` and `until` compare the time within the id of an activity, which may be a few milliseconds after `createdAt`. To continue exactly where a slice ended, pass its `nextCursor`. A slice looks at no more than 10,000 activities: with a rare `source` or `type` it may be short or empty while `hasMore` is true. With `source` and `idempotencyKey`, it returns the activities that arrived under this key: at most one that was sent to the API, and those of hooks.',
      done: 'A slice of activities.',
      answers: {
        whole: { summary: 'The only slice', value: { items: [example.log], hasMore: false } },
      },
      fault: { detail: 'is required with idempotencyKey', parameter: 'source' },
    },
  ),
  /** Reads an activity with its payload. */
  getProspectLog: get(
    '/v0/prospect_logs/{prospect_log_id}',
    {
      summary: 'Read an activity',
      scope: 'prospect_logs:read',
      needs: ['prospectLogs'],
      useCase: getProspectLog,
      answer: ProspectLog,
      answerBytesMax: ONE_BODY,
    },
    {
      description: 'Returns one activity. Its payload is byte for byte as it was sent.',
      done: 'The activity.',
      answers: { logged: { summary: 'An activity', value: example.log } },
    },
  ),
  /** Lists the activities of a prospect, newest first by `occurredAt`. */
  listTimeline: get(
    '/v0/prospects/{prospect_id}/prospect_logs',
    {
      summary: 'List the activities of a prospect, newest first by when they happened',
      scope: 'prospect_logs:read',
      needs: ['prospectLogs'],
      useCase: listTimeline,
      query: TimelineQuery,
      answer: ProspectLogSlice,
      answerBytesMax: ONE_BODY,
    },
    {
      description:
        'Returns the activities of a prospect by `occurredAt`, one slice at a time. `since` and `until` compare `occurredAt`. A slice looks at no more than 10,000 activities: with a rare `source` or `type` it may be short or empty while `hasMore` is true.',
      done: 'A slice of activities.',
      answers: {
        whole: { summary: 'The only slice', value: { items: [example.log], hasMore: false } },
      },
    },
  ),
  /** Lists how many activities arrived in each hour or day. `startBackground` of `prospect-pages/publisher` counts them. */
  listProspectLogCounts: get(
    '/v0/prospect_log_counts',
    {
      summary: 'Count activities by hour or day, source and type, or people by page or source',
      scope: 'prospect_logs:read',
      needs: ['counts', 'prospectCounts', 'moments'],
      useCase: listProspectLogCounts,
      query: ProspectLogCountQuery,
      answer: ProspectLogCounts,
      answerBytesMax: FOUR_BODIES,
      isReadOneByOne: true,
      problems: ['not_found'],
    },
    {
      description:
        'Returns how many activities arrived in each hour or day, by source and type, up to about a minute ago. With `of`, returns how many people, new people and activities each page or source brought, in each day or in a span of up to 31 days in which each person counts once. The first call starts counting, from the first activity of the tenant on. Counting stops if no one reads the counts for a month.',
      done: 'The counts, oldest first.',
      answers: {
        hours: {
          summary: 'Two hours with one source',
          value: {
            items: [
              {
                at: '2026-11-21T06:00:00.000Z',
                source: 'crm',
                type: 'form_submitted',
                count: 12,
                newProspects: 4,
              },
              {
                at: '2026-11-21T07:00:00.000Z',
                source: 'crm',
                type: 'form_submitted',
                count: 3,
                newProspects: 0,
              },
            ],
            countedUntil: '2026-11-21T07:47:09.561Z',
          },
        },
        people: {
          summary: 'The people of a page in a week',
          value: {
            items: [
              {
                at: '2026-11-15T00:00:00.000Z',
                pageId: example.page.pageId,
                source: null,
                type: null,
                count: 31,
                prospects: 24,
                newProspects: 19,
              },
            ],
            countedUntil: '2026-11-21T07:47:09.561Z',
          },
        },
      },
      fault: { detail: 'must be one of hour, day, span', parameter: 'by' },
    },
  ),
}
