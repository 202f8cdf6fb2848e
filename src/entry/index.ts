/** The public API for programs that call the operations: `createService`, what it takes and returns, and its failures. */
import './needs-node.ts'

export { type MemoryStore, memoryStore } from '../adapters/memory/store.ts'
export type { LoggedActivity } from '../core/activities/log-prospect-activity.ts'
export { DomainFailure, type FailureFacts, type FailureKind, type Fault } from '../core/engine/failures.ts'
export type { Replayable, Result, Revised } from '../core/engine/result.ts'
export type { Received as ReceivedDelivery } from '../core/hooks/receive-hook.ts'
export type { ReadPage as PageRead } from '../core/pages/get-page.ts'
// For `issueApiKey`.
export { DEFAULT_SCOPES, EVERY_SCOPE, SCOPES, type Scope } from '../core/ports/api-keys.ts'
export type { Store } from '../core/ports/store.ts'
export type { IssuedApiKey, ListedApiKey } from '../core/tenants/issue-api-key.ts'
export { createService } from '../service/create-service.ts'
export type {
  CreatePageGroupInput,
  CreatePageInput,
  CreateProspectInput,
  CreateVersionInput,
  HookDelivery,
  LogActivityInput,
  Service,
  ServiceOptions,
} from '../service/service-types.ts'
export type { WebhookOptions } from '../service/webhook-tools.ts'
export type { ApiKey } from '../shapes/api-key.ts'
export type { Erasure, ErasureSlice } from '../shapes/erasure.ts'
// `Event` is a global of browsers.
export type { Event as FeedEvent, EventSlice as FeedSlice, EventType } from '../shapes/event.ts'
export type { Hook, HookTrialResult } from '../shapes/hook.ts'
export type { RawJson } from '../shapes/json.ts'
export type {
  CreatedPage,
  CreatedVersion,
  Page,
  PageSlice,
  PageWithVersion,
  PublicationResult,
  Version,
  VersionSlice,
  VersionWithContent,
} from '../shapes/page.ts'
export type { PageGroup, PageGroupSlice } from '../shapes/page-group.ts'
export type {
  IdentifierConflict,
  MatchedProspect,
  Prospect,
  ProspectConflictSlice,
  ProspectSlice,
  ProspectWithIdentifiers,
} from '../shapes/prospect.ts'
export type { ProspectExportLine } from '../shapes/prospect-export.ts'
export type { ProspectLog, ProspectLogReceipt, ProspectLogSlice } from '../shapes/prospect-log.ts'
export type { ProspectLogCounts } from '../shapes/prospect-log-count.ts'
export type {
  CreatedWebhookEndpoint,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
  WebhookTest,
} from '../shapes/webhook.ts'
export type { WebhookDelivery, WebhookDeliveryWithAttempts } from '../shapes/webhook-delivery.ts'
