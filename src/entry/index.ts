/**
 * The public API for embedders: `createService`, what it takes and returns, its failures, a store in memory, and the types
 * for a store that you write.
 */
import './needs-node.ts'

export { type MemoryStore, memoryStore } from '../adapters/memory/store.ts'
// The results of operations, to name them in a program. Their inputs are `Parameters<Service[…]>[0]`.
export type { LoggedActivity } from '../core/activities/log-prospect-activity.ts'
export { DomainFailure, type FailureFacts, type FailureKind, type Fault } from '../core/engine/failures.ts'
export type { Outcome } from '../core/engine/outcome.ts'
// For a store that you write: the events of a log, its parts, and what their verbs take and return.
export { eventsOfLog } from '../core/events/new-event.ts'
export type { Received } from '../core/hooks/receive-hook.ts'
export type { PageGroupCreation } from '../core/pages/create-page-group.ts'
export type { PageCreation } from '../core/pages/create-page-with-version.ts'
export type { VersionCreation } from '../core/pages/create-version.ts'
export type { ReadPage } from '../core/pages/get-page.ts'
export type { ReadPageGroup } from '../core/pages/get-page-group.ts'
export type {
  Activities,
  ActivityChange,
  ActivityWant,
  KnownActivity,
  NewLog,
  StoredProspect,
  StoredReceipt,
} from '../core/ports/activities.ts'
export type { ApiKeys, OfTenant, Rotation, StoredApiKey } from '../core/ports/api-keys.ts'
// For `issueApiKey`.
export { DEFAULT_SCOPES, SCOPES, type Scope } from '../core/ports/api-keys.ts'
export type {
  CountedTenant,
  Counts,
  CountUnit,
  LogCount,
  LogCounts,
  UsageSum,
  Used,
} from '../core/ports/counts.ts'
export type {
  ClaimedErasure,
  ErasureChanges,
  ErasureStep,
  Erasures,
  ErasureWant,
  NamingLog,
  StoredErasure,
} from '../core/ports/erasures.ts'
export type { EventIds, Events, NewEvent, Requester, StoredEvent } from '../core/ports/events.ts'
export type { HookSeen, Hooks, HookWant, StoredHook } from '../core/ports/hooks.ts'
export type {
  AssumedIdentifier,
  Identifier,
  IdentifierKind,
  NewIdentifier,
  StoredIdentifier,
} from '../core/ports/identifiers.ts'
export type {
  ClaimedMerge,
  MergeChanges,
  MergeStep,
  Merges,
  NewMerge,
  ProspectStates,
} from '../core/ports/merges.ts'
export type {
  FoundPageGroup,
  NewPageGroupRow,
  PageGroupRead,
  PageGroups,
  PageGroupsWant,
  PageGroupWant,
  StoredPageGroup,
} from '../core/ports/page-groups.ts'
export type {
  FoundPage,
  KnownPage,
  NewPageRow,
  NewPageWant,
  NewVersionRow,
  PageChange,
  Pages,
  PagesWant,
  PageWant,
  Schedule,
  StoredPage,
  StoredPageWithVersions,
  StoredVersion,
  StoredVersionWithContent,
} from '../core/ports/pages.ts'
export type {
  FoundTimeline,
  OldestLogsWant,
  ProspectLogs,
  ProspectLogsWant,
  ProspectLogWant,
  StoredLog,
  TimelineSlice,
  TimelineWant,
} from '../core/ports/prospect-logs.ts'
export type {
  FoundProspect,
  OldestProspectsWant,
  ProspectCorrected,
  Prospects,
  ProspectsWant,
  ProspectWant,
} from '../core/ports/prospects.ts'
export type { DuePage, ScheduledVersion, Schedules } from '../core/ports/schedules.ts'
export type { Moments, Signal, SignalListener, Store } from '../core/ports/store.ts'
export type { NewTenant, RemovalPosition, Tenant, TenantChanges, Tenants } from '../core/ports/tenants.ts'
export type {
  ClaimedVersion,
  ClaimWant,
  CreatedByKey,
  Settlement,
  VersionContext,
  Versions,
  VersionWant,
} from '../core/ports/versions.ts'
export type {
  ClaimedEndpoint,
  DeliveryResult,
  DueDelivery,
  EndpointState,
  EndpointWant,
  ShownDelivery,
  StoredDelivery,
  StoredEndpoint,
  Webhooks,
} from '../core/ports/webhooks.ts'
export type {
  Backlog,
  Clock,
  IdPrefix,
  Moment,
  NewId,
  Recorded,
  Scanned,
  Served,
  SliceWant,
  Timestamp,
} from '../core/ports/world.ts'
export type { CreatedProspect } from '../core/prospects/create-prospect.ts'
export type { IssuedApiKey, ListedApiKey } from '../core/tenants/issue-api-key.ts'
export {
  type ActivityToLog,
  createService,
  type HookDelivery,
  type Service,
  type ServiceOptions,
  type WebhookOptions,
} from '../service/create-service.ts'
export type { ApiKey } from '../shapes/api-key.ts'
export type { Erasure, ErasureSlice } from '../shapes/erasure.ts'
export type { Event, EventSlice, EventType } from '../shapes/event.ts'
export type { Hook, HookTrialResult } from '../shapes/hook.ts'
export type { RawJson } from '../shapes/json.ts'
export type {
  CreatedPage,
  CreatedVersion,
  Page,
  PageSlice,
  PageWithVersion,
  Version,
  VersionSlice,
  VersionWithContent,
} from '../shapes/page.ts'
export type { PageGroup, PageGroupSlice } from '../shapes/page-group.ts'
export type { Prospect, ProspectSlice } from '../shapes/prospect.ts'
export type { ProspectExportLine } from '../shapes/prospect-export.ts'
export type { ProspectLog, ProspectLogReceipt, ProspectLogSlice } from '../shapes/prospect-log.ts'
export type { ProspectLogCounts } from '../shapes/prospect-log-count.ts'
export type { WebhookEndpoint, WebhookEndpointWithSecret, WebhookTest } from '../shapes/webhook.ts'
export type {
  ReplayResult,
  WebhookDelivery,
  WebhookDeliveryWithAttempts,
} from '../shapes/webhook-delivery.ts'
