/**
 * What embedders may use: `createService`, the use cases beneath it, their shapes and failures, and a store in memory.
 * Use cases check nothing that they are given: prefer `createService`, or check it first with the shapes.
 */
import './needs-node.ts'

export { createNewId } from '../adapters/ids.ts'
export { type MemoryStore, memoryStore } from '../adapters/memory/store.ts'
export * from '../compose/create-service.ts'
export type { NewPageGroup, PageGroupCreation, PageGroupFields } from '../core/create-page-group.ts'
export { createPageGroup } from '../core/create-page-group.ts'
export * from '../core/create-page-with-version.ts'
export { createTenant } from '../core/create-tenant.ts'
export * from '../core/create-version.ts'
export { deleteExpired } from '../core/delete-expired.ts'
export { listDeliveries, replayDeliveries, retryDelivery, testWebhookEndpoint } from '../core/deliveries.ts'
export { eraseProspects } from '../core/erase-prospects.ts'
export { eventData, eventReaders, webhookBodyOf } from '../core/event-data.ts'
export { DomainFailure, type FailureFacts, type FailureKind, type Fault } from '../core/failures.ts'
export { type GatherObserver, type GatherOptions, gather } from '../core/gather.ts'
export { getPages, type ReadPage } from '../core/get-page.ts'
export { getPageGroup, type ReadPageGroup } from '../core/get-page-group.ts'
export { getProspects } from '../core/get-prospect.ts'
export { getProspectLogs } from '../core/get-prospect-log.ts'
export { type Caller, identify, requireScope } from '../core/identify.ts'
export { type IssuedApiKey, issueApiKey, type ListedApiKey, type NewApiKey } from '../core/issue-api-key.ts'
export { listApiKeys } from '../core/list-api-keys.ts'
export {
  type ErasureListing,
  type ErasureRead,
  getErasure,
  listErasures,
  unblockErasure,
} from '../core/list-erasures.ts'
export { type EventListing, type EventRead, getEvent, listEvents } from '../core/list-events.ts'
export { listPageGroups, type PageGroupListing } from '../core/list-page-groups.ts'
export { listPages } from '../core/list-pages.ts'
export { listProspectLogs, type ProspectLogListing } from '../core/list-prospect-logs.ts'
export { listProspects, type ProspectListing } from '../core/list-prospects.ts'
export { listTimelines, type TimelineListing } from '../core/list-timeline.ts'
export { getVersions, listVersions } from '../core/list-versions.ts'
export * from '../core/log-prospect-activity.ts'
export type { LocatedActivity, NewActivity } from '../core/new-log.ts'
export type { Outcome } from '../core/outcome.ts'
export type * from '../core/ports/activities.ts'
export * from '../core/ports/api-keys.ts'
export type * from '../core/ports/erasures.ts'
export type * from '../core/ports/events.ts'
export type * from '../core/ports/page-groups.ts'
export type * from '../core/ports/pages.ts'
export type * from '../core/ports/prospect-logs.ts'
export type * from '../core/ports/prospects.ts'
export type * from '../core/ports/store.ts'
export type * from '../core/ports/tenants.ts'
export type * from '../core/ports/versions.ts'
export type * from '../core/ports/webhooks.ts'
export type * from '../core/ports/world.ts'
export * from '../core/publish-version.ts'
export { publishVersions } from '../core/publish-versions.ts'
export { type RememberedProspects, rememberProspects } from '../core/remember-prospects.ts'
export { type ErasureRequest, requestErasure } from '../core/request-erasure.ts'
export { revokeApiKey } from '../core/revoke-api-key.ts'
export { rotateApiKey } from '../core/rotate-api-key.ts'
export * from '../core/update-page.ts'
export * from '../core/update-page-group.ts'
export { type ProspectCorrection, updateProspect } from '../core/update-prospect.ts'
export * from '../core/webhook-endpoints.ts'
export type { IfRevision } from '../core/write-in-turn.ts'
export { Erasure, ErasureSlice, NewErasure } from '../shapes/erasure.ts'
export * from '../shapes/event.ts'
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
  Version,
  VersionSlice,
  VersionWithContent,
} from '../shapes/page.ts'
export { PageGroup, PageGroupChanges, PageGroupQuery, PageGroupSlice } from '../shapes/page-group.ts'
export { Prospect, ProspectChanges, ProspectQuery, ProspectSlice } from '../shapes/prospect.ts'
export {
  NewProspectLog,
  ProspectLog,
  ProspectLogQuery,
  ProspectLogReceipt,
  ProspectLogSlice,
  TimelineQuery,
} from '../shapes/prospect-log.ts'
export * from '../shapes/webhook.ts'
