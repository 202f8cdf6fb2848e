/** The types for a store that you write: its parts, and the inputs and results of their verbs. */

export { DomainFailure, type FailureFacts, type FailureKind } from '../core/engine/failures.ts'
// The events that a store adds when it records a log.
export { eventsOfLog } from '../core/events/new-event.ts'
export type {
  Activities,
  ActivityChange,
  ActivityWant,
  KnownActivity,
  NewLog,
  StoredProspect,
  StoredReceipt,
} from '../core/ports/activities.ts'
export type { ApiKeys, OfTenant, Rotation, Scope, StoredApiKey } from '../core/ports/api-keys.ts'
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
  SlugWant,
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
export type { Moments, Ports, Signal, SignalListener, SmallStore, Store } from '../core/ports/store.ts'
export type { NewTenant, RemovalPosition, Tenant, TenantChanges, Tenants } from '../core/ports/tenants.ts'
export type {
  ClaimedVersion,
  ClaimWant,
  CreatedByKey,
  NamingContext,
  Settlement,
  VersionByKey,
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
export type { EventType } from '../shapes/event.ts'
export type { RawJson } from '../shapes/json.ts'
