import type * as v from 'valibot'
import * as apiKeys from '../shapes/api-key.ts'
import * as erasures from '../shapes/erasure.ts'
import * as events from '../shapes/event.ts'
import * as hooks from '../shapes/hook.ts'
import { abortable, anyId, idempotent, ifRevision } from '../shapes/input.ts'
import * as pages from '../shapes/page.ts'
import * as groups from '../shapes/page-group.ts'
import * as prospects from '../shapes/prospect.ts'
import { ProspectExportLine } from '../shapes/prospect-export.ts'
import * as logs from '../shapes/prospect-log.ts'
import * as counts from '../shapes/prospect-log-count.ts'
import { SliceQuery } from '../shapes/slice.ts'
import * as webhooks from '../shapes/webhook.ts'
import * as deliveries from '../shapes/webhook-delivery.ts'
import type { Scope } from './ports/api-keys.ts'

type Shape = v.ObjectSchema<v.ObjectEntries, undefined>
/** The input and the answer of an operation, and who may call it. Its use case has the same name. */
export type Operation = {
  /** Null if any key will do; several if the key needs all of them. */
  readonly scope: Scope | readonly Scope[] | null
  /** The ids of the resource: over HTTP those in the path. */
  readonly ids?: v.ObjectEntries
  readonly query?: Shape
  readonly body?: Shape
  /** An idempotency key, or the revisions that a change is for: over HTTP headers. Or a signal that ends a wait. */
  readonly takes?: v.ObjectEntries
  /** Absent if nothing is returned. */
  readonly answer?: v.GenericSchema
  /** It returns any number of these, one by one: over HTTP as JSON lines. */
  readonly lines?: true
  /** It takes up to 1,000 of these, in order. Over HTTP the body contains them. */
  readonly item?: Shape
}

const prospect = { prospectId: anyId }
const erasure = { erasureId: anyId }
const group = { pageGroupId: anyId }
const page = { ...group, pageId: anyId }
const version = { ...page, versionId: anyId }
const hook = { hookId: anyId }
const endpoint = { webhookEndpointId: anyId }

/**
 * Every operation, declared once. HTTP adds method, path and problems to each (adapters/http/routes.ts); the library's
 * `Service` and the command `api` follow.
 */
export const operations = {
  /** Logs one activity, for the prospect with this id, else with this external id, else with this email, else a new one. */
  logProspectActivity: {
    scope: 'prospect_logs:write',
    body: logs.NewProspectLog,
    takes: idempotent,
    answer: logs.ProspectLogReceipt,
  },
  /**
   * Logs many, in order. Returns for each its result or its `DomainFailure`; one failure affects no other, but after
   * `unavailable` the rest is not tried.
   */
  logProspectActivities: {
    scope: 'prospect_logs:write',
    item: logs.NewProspectLog,
    body: logs.ProspectLogBatch,
    answer: logs.ProspectLogBatchResult,
  },
  /** Creates a prospect, or finds the one with this external id or email and fills its blanks. */
  createProspect: {
    scope: 'prospects:write',
    body: prospects.NewProspect,
    answer: prospects.MatchedProspect,
  },
  /** Lists the prospects of a tenant, newest first, or the one with this email or external id. */
  listProspects: { scope: 'prospects:read', query: prospects.ProspectQuery, answer: prospects.ProspectSlice },
  /** Reads a prospect. */
  getProspect: { scope: 'prospects:read', ids: prospect, answer: prospects.Prospect },
  /** Corrects the email, the external id or the name of a prospect; null clears it. */
  updateProspect: {
    scope: 'prospects:write',
    ids: prospect,
    body: prospects.ProspectChanges,
    answer: prospects.Prospect,
  },
  /** Merges a prospect into another one, for good. `startBackground` of `prospect-pages/publisher` moves its activities. */
  mergeProspect: {
    scope: 'prospects:write',
    ids: prospect,
    body: prospects.ProspectMerge,
    answer: prospects.Prospect,
  },
  /** Lists the activities of a prospect, newest first by `occurredAt`. */
  listTimeline: {
    scope: 'prospect_logs:read',
    ids: prospect,
    query: logs.TimelineQuery,
    answer: logs.ProspectLogSlice,
  },
  /** Everything about one person, line by line, a slice at a time: the answer to a request for access. */
  exportProspect: {
    scope: ['prospects:read', 'prospect_logs:read'],
    ids: prospect,
    answer: ProspectExportLine,
    lines: true,
  },
  /** Lists the activities of a tenant, newest first in the order of arrival. */
  listProspectLogs: {
    scope: 'prospect_logs:read',
    query: logs.ProspectLogQuery,
    answer: logs.ProspectLogSlice,
  },
  /** Reads an activity with its payload. */
  getProspectLog: { scope: 'prospect_logs:read', ids: { prospectLogId: anyId }, answer: logs.ProspectLog },
  /** Lists how many activities arrived in each hour or day. `startBackground` of `prospect-pages/publisher` counts them. */
  listProspectLogCounts: {
    scope: 'prospect_logs:read',
    query: counts.ProspectLogCountQuery,
    answer: counts.ProspectLogCounts,
  },
  /** Erases a person, by prospect id, external id or email. `startBackground` of `prospect-pages/publisher` completes it. */
  eraseProspect: { scope: 'prospects:erase', body: erasures.NewErasure, answer: erasures.Erasure },
  /** Lists the erasures of a tenant, newest first. */
  listErasures: { scope: 'prospects:erase', query: SliceQuery, answer: erasures.ErasureSlice },
  /** Reads an erasure: how far it is. */
  getErasure: { scope: 'prospects:erase', ids: erasure, answer: erasures.Erasure },
  /** Lifts the block of an erased email and external id: the person may return. */
  unblockErasure: { scope: 'prospects:erase', ids: erasure, answer: erasures.Erasure },
  /** Lists the page groups of a tenant, newest first. Without a status: all but the deleted ones. */
  listPageGroups: { scope: 'page_groups:read', query: groups.PageGroupQuery, answer: groups.PageGroupSlice },
  /** Creates a page group, by default in the first brand of the tenant. */
  createPageGroup: {
    scope: 'page_groups:write',
    body: groups.NewPageGroup,
    takes: idempotent,
    answer: groups.PageGroup,
  },
  /** Reads a page group. */
  getPageGroup: { scope: 'page_groups:read', ids: group, answer: groups.PageGroup },
  /** Changes the given fields. `ifRevision`, here and below: only if the revision is one of these. */
  updatePageGroup: {
    scope: 'page_groups:write',
    ids: group,
    body: groups.PageGroupChanges,
    takes: ifRevision,
    answer: groups.PageGroup,
  },
  /** Deletes a page group: neither it nor its pages are found any more. */
  deletePageGroup: { scope: 'page_groups:write', ids: group, takes: ifRevision },
  /** Lists the pages of a group, newest first. */
  listPages: { scope: 'pages:read', ids: group, query: SliceQuery, answer: pages.PageSlice },
  /** Creates a page whose first version waits for a publisher, which publishes it unless `publish` is false. */
  createPageWithVersion: {
    scope: 'pages:write',
    ids: group,
    body: pages.NewPage,
    takes: idempotent,
    answer: pages.CreatedPage,
  },
  /** Reads a page with its published version, which is null until a publisher has published one. */
  getPage: { scope: 'pages:read', ids: page, answer: pages.PageWithVersion },
  /** Renames a page, or sets when it is unpublished; null removes its custom name or that time. */
  updatePage: {
    scope: 'pages:write',
    ids: page,
    body: pages.PageChanges,
    takes: ifRevision,
    answer: pages.PageWithVersion,
  },
  /** Deletes a page with its versions. */
  deletePage: { scope: 'pages:write', ids: page, takes: ifRevision },
  /** Lists the versions of a page, newest first, without their content. */
  listVersions: { scope: 'pages:read', ids: page, query: SliceQuery, answer: pages.VersionSlice },
  /** Creates a version, which waits for a publisher. Fields left out are as in the newest version. */
  createVersion: {
    scope: 'pages:write',
    ids: page,
    body: pages.NewVersion,
    takes: idempotent,
    answer: pages.CreatedVersion,
  },
  /** Reads a version with its content. */
  getVersion: { scope: 'pages:read', ids: version, answer: pages.VersionWithContent },
  /** Publishes a version, even an older one, now or later. */
  publishVersion: {
    scope: 'pages:write',
    ids: version,
    body: pages.Publication,
    takes: ifRevision,
    answer: pages.PageWithVersion,
  },
  /** Ends the schedule of a version. */
  unscheduleVersion: { scope: 'pages:write', ids: version, answer: pages.VersionWithContent },
  /** Withdraws the published version. */
  unpublishPage: { scope: 'pages:write', ids: page, takes: ifRevision, answer: pages.PageWithVersion },
  /**
   * Reads the feed of a tenant, oldest first. Keep `nextCursor`, and go on from there later. `wait`: up to so many seconds
   * for the next event; `signal` ends the wait.
   */
  listEvents: { scope: 'events:read', query: events.EventQuery, takes: abortable, answer: events.EventSlice },
  /** Reads an event with its data as of now. */
  getEvent: { scope: 'events:read', ids: { eventId: anyId }, answer: events.Event },
  /** Creates a webhook endpoint, and returns its secret for the only time. */
  createWebhookEndpoint: {
    scope: 'webhooks:write',
    body: webhooks.NewWebhookEndpoint,
    answer: webhooks.WebhookEndpointWithSecret,
  },
  /** Lists all webhook endpoints of a tenant, oldest first. */
  listWebhookEndpoints: { scope: 'webhooks:write', answer: webhooks.WebhookEndpointList },
  /** Reads a webhook endpoint, without its secret. */
  getWebhookEndpoint: { scope: 'webhooks:write', ids: endpoint, answer: webhooks.WebhookEndpoint },
  /** Changes the given fields; `status` disables it, or enables it again. */
  updateWebhookEndpoint: {
    scope: 'webhooks:write',
    ids: endpoint,
    body: webhooks.WebhookEndpointChanges,
    answer: webhooks.WebhookEndpoint,
  },
  /** Deletes a webhook endpoint with its deliveries. */
  deleteWebhookEndpoint: { scope: 'webhooks:write', ids: endpoint },
  /** Returns a new secret, for the only time. The old one signs too for `overlapHours`. */
  rotateWebhookSecret: {
    scope: 'webhooks:write',
    ids: endpoint,
    body: webhooks.SecretRotation,
    answer: webhooks.WebhookEndpointWithSecret,
  },
  /** Sends a webhook to an endpoint now, an event or one to try it, and returns the result with what was sent. */
  testWebhookEndpoint: {
    scope: 'webhooks:write',
    ids: endpoint,
    body: webhooks.WebhookTrial,
    answer: webhooks.WebhookTest,
  },
  /** Lists the deliveries of an endpoint, newest event first. */
  listDeliveries: {
    scope: 'webhooks:write',
    ids: endpoint,
    query: deliveries.DeliveryQuery,
    answer: deliveries.DeliverySlice,
  },
  /** Reads a delivery, with its last attempts and its body as of now. */
  getDelivery: {
    scope: 'webhooks:write',
    ids: { ...endpoint, eventId: anyId },
    answer: deliveries.WebhookDeliveryWithAttempts,
  },
  /** Makes a delivery pending again. */
  retryDelivery: {
    scope: 'webhooks:write',
    ids: { ...endpoint, eventId: anyId },
    answer: deliveries.WebhookDelivery,
  },
  /** Delivers the events since a time again. */
  replayDeliveries: {
    scope: 'webhooks:write',
    ids: endpoint,
    body: deliveries.Replay,
    answer: deliveries.ReplayResult,
  },
  /** Creates a hook: an address that a vendor posts to. A token is in its path, for the only time. */
  createHook: { scope: 'hooks:write', body: hooks.NewHook, answer: hooks.Hook },
  /** Lists the hooks of a tenant, newest first. */
  listHooks: { scope: 'hooks:write', query: SliceQuery, answer: hooks.HookSlice },
  /** Reads a hook, without its secret. */
  getHook: { scope: 'hooks:write', ids: hook, answer: hooks.Hook },
  /** Changes the given fields; a new secret or token leaves the old one valid for `overlapHours`. */
  updateHook: { scope: 'hooks:write', ids: hook, body: hooks.HookChanges, answer: hooks.Hook },
  /** Deletes a hook: its address is unknown from then on. */
  deleteHook: { scope: 'hooks:write', ids: hook },
  /** Tries a delivery and returns the result. Nothing is stored. */
  tryHook: { scope: 'hooks:write', ids: hook, body: hooks.HookTrial, answer: hooks.HookTrialResult },
  /** Reads an API key, without the key itself. Over HTTP: that of the request. */
  getApiKey: { scope: null, ids: { apiKeyId: anyId }, answer: apiKeys.ApiKey },
} satisfies { readonly [name: string]: Operation }

type Operations = typeof operations
export type OperationId = keyof Operations
type EntriesIn<Part> = Part extends { readonly entries: infer Entries } ? Entries : unknown
type Part<Of, Name extends keyof Operation> = Of extends { readonly [_ in Name]: infer Found }
  ? Found
  : unknown
/** All inputs of an operation, by name. */
export type EntriesOf<Of extends Operation> = Extract<
  Record<never, never> &
    Part<Of, 'ids'> &
    EntriesIn<Part<Of, 'query'>> &
    EntriesIn<'item' extends keyof Of ? Of['item'] : Part<Of, 'body'>> &
    Part<Of, 'takes'>,
  v.ObjectEntries
>
