import { activityFills } from './activity-fills.ts'
import { activityIdentifiers } from './activity-identifiers.ts'
import { activityKeys } from './activity-keys.ts'
import { activityPayloads } from './activity-payloads.ts'
import { activityRecalls } from './activity-recalls.ts'
import { activityWrites } from './activity-writes.ts'
import { apiKeys } from './api-keys.ts'
import { attributes } from './attributes.ts'
import { changesAtOnce } from './changes-at-once.ts'
import { concurrency } from './concurrency.ts'
import type { Section } from './contract.ts'
import { counts } from './counts.ts'
import { deletions } from './deletions.ts'
import { deliveries } from './deliveries.ts'
import { erasureWrites } from './erasure-writes.ts'
import { erasures } from './erasures.ts'
import { eventWrites } from './event-writes.ts'
import { events, everyEvent } from './events.ts'
import { externalIds } from './external-ids.ts'
import { formerIdentifiers } from './former-identifiers.ts'
import { hooks } from './hooks.ts'
import { isolation } from './isolation.ts'
import { mergeErasures } from './merge-erasures.ts'
import { mergeMoves } from './merge-moves.ts'
import { mergeWrites } from './merge-writes.ts'
import { merges } from './merges.ts'
import { oldestLogs } from './oldest-logs.ts'
import { pageChanges } from './page-changes.ts'
import { pageGroups } from './page-groups.ts'
import { pages } from './pages.ts'
import { placeholders } from './placeholders.ts'
import { prospectConflicts } from './prospect-conflicts.ts'
import { prospectCorrections } from './prospect-corrections.ts'
import { prospectCounts } from './prospect-counts.ts'
import { prospectLogs } from './prospect-logs.ts'
import { prospectSearch } from './prospect-search.ts'
import { prospects } from './prospects.ts'
import { queues } from './queues.ts'
import { rememberedProspects } from './remembered-prospects.ts'
import { retention } from './retention.ts'
import { schedules } from './schedules.ts'
import { searchIndex } from './search-index.ts'
import { signals } from './signals.ts'
import { simulation } from './simulation.ts'
import { tenants } from './tenants.ts'
import { versions } from './versions.ts'
import { walks } from './walks.ts'
import { webhooks } from './webhooks.ts'

export const sections: readonly Section[] = [
  tenants,
  apiKeys,
  hooks,
  activityRecalls,
  activityKeys,
  activityIdentifiers,
  activityFills,
  activityPayloads,
  activityWrites,
  oldestLogs,
  rememberedProspects,
  externalIds,
  placeholders,
  prospects,
  prospectSearch,
  searchIndex,
  prospectCorrections,
  attributes,
  formerIdentifiers,
  prospectConflicts,
  prospectLogs,
  counts,
  prospectCounts,
  pageGroups,
  pages,
  pageChanges,
  versions,
  schedules,
  deletions,
  erasures,
  erasureWrites,
  retention,
  merges,
  mergeMoves,
  mergeWrites,
  mergeErasures,
  events,
  eventWrites,
  everyEvent,
  webhooks,
  deliveries,
  signals,
  queues,
  isolation,
  walks,
  concurrency,
  changesAtOnce,
  simulation,
]
