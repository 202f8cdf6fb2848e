/** The types for a store that you write: its parts, and the inputs and results of their verbs. */

export { DomainFailure, type FailureFacts, type FailureKind } from '../core/engine/failures.ts'
// The events that a store adds when it records a log.
export { eventsOfLog } from '../core/events/new-event.ts'
export type {
  Activities,
  ActivityChange,
  ActivityLookup,
  KnownActivity,
  LogKey,
  LogKeyLookup,
  NewLog,
  StoredProspect,
  StoredReceipt,
} from '../core/ports/activities.ts'
export type { ApiKeys, Rotation, Scope, StoredApiKey, TenantState } from '../core/ports/api-keys.ts'
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
  DeletionProgress,
  Deletions,
  NewDeletion,
  PageGroupDeletion,
  PageToUnpublish,
} from '../core/ports/deletions.ts'
export type {
  ClaimedErasure,
  ErasureChanges,
  ErasureLookup,
  ErasureStep,
  Erasures,
  NamingLog,
  NewStoredErasure,
  StoredErasure,
} from '../core/ports/erasures.ts'
export type { EventIds, Events, NewEvent, Requester, StoredEvent } from '../core/ports/events.ts'
export type { HookKey, HookSeen, Hooks, StoredHook } from '../core/ports/hooks.ts'
export type {
  AssumedIdentifier,
  Identifier,
  IdentifierKind,
  IdentifierLookup,
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
  PageGroupKey,
  PageGroupLookup,
  PageGroups,
  PageGroupsQuery,
  StoredPageGroup,
} from '../core/ports/page-groups.ts'
export type {
  FoundPage,
  KnownForNewPage,
  ListedPage,
  NewPageLookup,
  NewPageRow,
  NewVersionRow,
  PageChange,
  PageKey,
  Pages,
  PagesQuery,
  PublishedPageRow,
  PublishedPagesQuery,
  PublishedPosition,
  Schedule,
  SlugKey,
  StoredPage,
  StoredPageWithVersions,
  StoredVersion,
  StoredVersionWithContent,
} from '../core/ports/pages.ts'
export type { Joined, Placeholder, Placeholders, Released } from '../core/ports/placeholders.ts'
export type {
  ConflictPosition,
  ConflictsQuery,
  FoundConflict,
  ProspectConflicts,
  StoredConflict,
} from '../core/ports/prospect-conflicts.ts'
export type {
  DayCount,
  ProspectCount,
  ProspectCounts,
  ProspectDay,
  ProspectTally,
} from '../core/ports/prospect-counts.ts'
export type {
  FoundTimeline,
  OldestLogsQuery,
  ProspectLogKey,
  ProspectLogs,
  ProspectLogsQuery,
  StoredLog,
  TimelineRowsQuery,
  TimelineSlice,
} from '../core/ports/prospect-logs.ts'
export type {
  FormerOwnersQuery,
  FoundProspect,
  OldestProspectsQuery,
  ProspectCorrected,
  ProspectIdentifier,
  ProspectKey,
  Prospects,
  ProspectsQuery,
} from '../core/ports/prospects.ts'
export type { DuePage, ScheduledVersion, Schedules } from '../core/ports/schedules.ts'
export type { IndexedTenant, SearchIndex } from '../core/ports/search-index.ts'
export type { Moments, Ports, Queue, Signal, SignalListener, SmallStore, Store } from '../core/ports/store.ts'
export type { NewTenant, RemovalPosition, Tenant, TenantChanges, Tenants } from '../core/ports/tenants.ts'
export type {
  ClaimedVersion,
  ClaimQuery,
  CreatedByKey,
  HandOver,
  NamingContext,
  Settlement,
  VersionByKey,
  VersionContext,
  VersionKey,
  Versions,
} from '../core/ports/versions.ts'
export type {
  ClaimedEndpoint,
  DeliveryResult,
  DueDelivery,
  EndpointKey,
  EndpointState,
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
  RowsQuery,
  Scanned,
  Served,
  Timestamp,
} from '../core/ports/world.ts'
export type { EventType } from '../shapes/event.ts'
export type { RawJson } from '../shapes/json.ts'
