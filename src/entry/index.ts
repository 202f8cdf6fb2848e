/**
 * The public API for embedders: `createService`, the use cases beneath it, their shapes and failures, and a store in
 * memory. Use cases do not check their input: prefer `createService`, or check it first with the shapes.
 */
import './needs-node.ts'

export { createNewId } from '../adapters/ids.ts'
export { type MemoryStore, memoryStore } from '../adapters/memory/store.ts'
export { getProspectLogs } from '../core/activities/get-prospect-log.ts'
export { listProspectLogs, type ProspectLogListing } from '../core/activities/list-prospect-logs.ts'
export { listTimelines, type TimelineListing } from '../core/activities/list-timeline.ts'
export * from '../core/activities/log-prospect-activity.ts'
export type { LocatedActivity, NewActivity } from '../core/activities/new-log.ts'
export { type RememberedProspects, rememberProspects } from '../core/activities/remember-prospects.ts'
export { countProspectLogs } from '../core/counts/count-prospect-logs.ts'
export { listProspectLogCounts, type ProspectLogCounting } from '../core/counts/list-prospect-log-counts.ts'
export { DomainFailure, type FailureFacts, type FailureKind, type Fault } from '../core/engine/failures.ts'
export { type GatherObserver, type GatherOptions, gather } from '../core/engine/gather.ts'
export type { Outcome } from '../core/engine/outcome.ts'
export type { IfRevision } from '../core/engine/write-in-turn.ts'
export { deleteExpired } from '../core/erasures/delete-expired.ts'
export { eraseProspects } from '../core/erasures/erase-prospects.ts'
export {
  type ErasureListing,
  type ErasureRead,
  getErasure,
  listErasures,
  unblockErasure,
} from '../core/erasures/list-erasures.ts'
export { type ErasureRequest, requestErasure } from '../core/erasures/request-erasure.ts'
export { sweepLateLogs } from '../core/erasures/sweep-late-logs.ts'
export { eventData, webhookBodyOf } from '../core/events/event-data.ts'
export { type EventListing, type EventRead, getEvent, listEvents } from '../core/events/list-events.ts'
export {
  createHook,
  deleteHook,
  getHook,
  type HookTools,
  listHooks,
  updateHook,
} from '../core/hooks/hooks.ts'
export { type Received, receiveHooks } from '../core/hooks/receive-hook.ts'
export { tryHook } from '../core/hooks/try-hook.ts'
export type { NewPageGroup, PageGroupCreation, PageGroupFields } from '../core/pages/create-page-group.ts'
export { createPageGroup } from '../core/pages/create-page-group.ts'
export * from '../core/pages/create-page-with-version.ts'
export * from '../core/pages/create-version.ts'
export { getPages, type ReadPage } from '../core/pages/get-page.ts'
export { getPageGroup, type ReadPageGroup } from '../core/pages/get-page-group.ts'
export { listPageGroups, type PageGroupListing } from '../core/pages/list-page-groups.ts'
export { listPages } from '../core/pages/list-pages.ts'
export { getVersions, listVersions } from '../core/pages/list-versions.ts'
export * from '../core/pages/publish-version.ts'
export { publishVersions } from '../core/pages/publish-versions.ts'
export { runSchedules } from '../core/pages/run-schedules.ts'
export * from '../core/pages/update-page.ts'
export * from '../core/pages/update-page-group.ts'
export type * from '../core/ports/activities.ts'
export * from '../core/ports/api-keys.ts'
export type * from '../core/ports/counts.ts'
export type * from '../core/ports/erasures.ts'
export type * from '../core/ports/events.ts'
export type * from '../core/ports/hooks.ts'
export type * from '../core/ports/merges.ts'
export type * from '../core/ports/page-groups.ts'
export type * from '../core/ports/pages.ts'
export type * from '../core/ports/prospect-logs.ts'
export type * from '../core/ports/prospects.ts'
export type * from '../core/ports/schedules.ts'
export type * from '../core/ports/store.ts'
export type * from '../core/ports/tenants.ts'
export type * from '../core/ports/versions.ts'
export type * from '../core/ports/webhooks.ts'
export type * from '../core/ports/world.ts'
export {
  type CreatedProspect,
  createProspects,
  type ProspectCreation,
} from '../core/prospects/create-prospect.ts'
export { exportProspect } from '../core/prospects/export-prospect.ts'
export { getProspects } from '../core/prospects/get-prospect.ts'
export { listProspects, type ProspectListing } from '../core/prospects/list-prospects.ts'
export { mergeProspect, type ProspectMerging } from '../core/prospects/merge-prospect.ts'
export { moveMerged } from '../core/prospects/move-merged.ts'
export { type ProspectCorrection, updateProspect } from '../core/prospects/update-prospect.ts'
export { eventReaders } from '../core/readers.ts'
export { createTenant } from '../core/tenants/create-tenant.ts'
export { getApiKey } from '../core/tenants/get-api-key.ts'
export { type Caller, identify, requireScope } from '../core/tenants/identify.ts'
export {
  type IssuedApiKey,
  issueApiKey,
  type ListedApiKey,
  type NewApiKey,
} from '../core/tenants/issue-api-key.ts'
export { listApiKeys } from '../core/tenants/list-api-keys.ts'
export { revokeApiKey } from '../core/tenants/revoke-api-key.ts'
export { rotateApiKey } from '../core/tenants/rotate-api-key.ts'
export { deleteTenant, resumeTenant, suspendTenant } from '../core/tenants/suspend-tenant.ts'
export {
  getDelivery,
  listDeliveries,
  replayDeliveries,
  retryDelivery,
  testWebhookEndpoint,
} from '../core/webhooks/deliveries.ts'
export * from '../core/webhooks/webhook-endpoints.ts'
export * from '../service/create-service.ts'
export { ApiKey } from '../shapes/api-key.ts'
export { Erasure, ErasureSlice, NewErasure } from '../shapes/erasure.ts'
export * from '../shapes/event.ts'
export { Hook, HookChanges, HookSlice, HookTrial, HookTrialResult, NewHook } from '../shapes/hook.ts'
export type { RawJson } from '../shapes/json.ts'
export {
  CreatedPage,
  CreatedVersion,
  NewPage,
  NewVersion,
  Page,
  PageChanges,
  PageSlice,
  PageWithVersion,
  Publication,
  Version,
  VersionSlice,
  VersionWithContent,
} from '../shapes/page.ts'
export { PageGroup, PageGroupChanges, PageGroupQuery, PageGroupSlice } from '../shapes/page-group.ts'
export {
  NewProspect,
  Prospect,
  ProspectChanges,
  ProspectMerge,
  ProspectQuery,
  ProspectSlice,
} from '../shapes/prospect.ts'
export { ProspectExportLine } from '../shapes/prospect-export.ts'
export {
  NewProspectLog,
  ProspectLog,
  ProspectLogQuery,
  ProspectLogReceipt,
  ProspectLogSlice,
  TimelineQuery,
} from '../shapes/prospect-log.ts'
export {
  ProspectLogCount,
  ProspectLogCountQuery,
  ProspectLogCounts,
} from '../shapes/prospect-log-count.ts'
export * from '../shapes/webhook.ts'
