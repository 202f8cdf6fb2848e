import { manyOf } from '../adapters/http/many-of.ts'
import { shareEqual } from '../adapters/http/share-equal.ts'
import { shareLoop } from '../adapters/http/share-loop.ts'
import { assumingActive } from '../adapters/stores/assuming-active.ts'
import { type GatherObserver, gather } from '../adapters/stores/gather.ts'
import { remembering } from '../adapters/stores/remembering.ts'
import { getProspectLog } from '../core/activities/get-prospect-log.ts'
import { listProspectLogs } from '../core/activities/list-prospect-logs.ts'
import { listTimeline } from '../core/activities/list-timeline.ts'
import { logProspectActivities } from '../core/activities/log-prospect-activities.ts'
import { logProspectActivity } from '../core/activities/log-prospect-activity.ts'
import { listProspectLogCounts } from '../core/counts/list-prospect-log-counts.ts'
import { keyOf } from '../core/engine/keys.ts'
import { createTurns } from '../core/engine/write-in-turn.ts'
import { getErasure, listErasures, unblockErasure } from '../core/erasures/list-erasures.ts'
import { requestErasure } from '../core/erasures/request-erasure.ts'
import { eventData } from '../core/events/event-data.ts'
import { getEvent, listEvents } from '../core/events/list-events.ts'
import * as hooks from '../core/hooks/hooks.ts'
import { tryHook } from '../core/hooks/try-hook.ts'
import { createPageGroup } from '../core/pages/create-page-group.ts'
import { createPageWithVersion } from '../core/pages/create-page-with-version.ts'
import { createVersion } from '../core/pages/create-version.ts'
import { getPage } from '../core/pages/get-page.ts'
import { getPageGroup } from '../core/pages/get-page-group.ts'
import { listPageGroups } from '../core/pages/list-page-groups.ts'
import { listPages } from '../core/pages/list-pages.ts'
import { getVersion, listVersions } from '../core/pages/list-versions.ts'
import { publishVersion, unpublishPage, unscheduleVersion } from '../core/pages/publish-version.ts'
import { deletePage, updatePage } from '../core/pages/update-page.ts'
import { deletePageGroup, updatePageGroup } from '../core/pages/update-page-group.ts'
import type { PageWant } from '../core/ports/pages.ts'
import type { Needs, Store } from '../core/ports/store.ts'
import { createProspect } from '../core/prospects/create-prospect.ts'
import { exportProspect } from '../core/prospects/export-prospect.ts'
import { getProspect } from '../core/prospects/get-prospect.ts'
import { listProspects } from '../core/prospects/list-prospects.ts'
import { mergeProspect } from '../core/prospects/merge-prospect.ts'
import { updateProspect } from '../core/prospects/update-prospect.ts'
import { getApiKey } from '../core/tenants/get-api-key.ts'
import {
  getDelivery,
  listDeliveries,
  replayDeliveries,
  retryDelivery,
  testWebhookEndpoint,
} from '../core/webhooks/deliveries.ts'
import * as endpoints from '../core/webhooks/webhook-endpoints.ts'
import { eventReaders } from './event-readers.ts'
import { waitForEvents } from './wait-for-events.ts'

/** The embedded database reads one after the other; on PostgreSQL a second list fills the time the first one waits. */
const READS_IN_FLIGHT_MAX = 2
/** The resources of events may each be as large as a body. */
const PAGES = { listLengthMax: 64, dedupeKey: JSON.stringify }
/** This takes half the time of `JSON.stringify`, and pages are read most often. */
const keyOfPage = ({ tenantId, pageGroupId, pageId }: PageWant) => keyOf(tenantId, pageGroupId, pageId)
/** Each slice of the feed is read separately: none waits for one that looks for rare types. */
const FEED = { listLengthMax: 1, listsInFlightMax: 16, dedupeKey: JSON.stringify }
export type UseCaseSettings = {
  /** Refuse an activity without a prospect id, an external id or an email to find its prospect by. */
  readonly requireIdentity: boolean
  /** Prospects that need no look-up; 0: none. */
  readonly prospectsRememberedMax: number
  /** Whether activities are counted. */
  readonly counts: boolean
}
export type Optional<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined }
type Deps = Needs<keyof Store> &
  UseCaseSettings & {
    readonly webhooks: endpoints.WebhookTools
    readonly hooks: hooks.HookTools
    readonly observerOf?: ((operation: string) => GatherObserver | undefined) | undefined
  }

/** The use cases of a service: see `composeUseCases`. */
export type UseCases = ReturnType<typeof composeUseCases>

/** The operations over a store. What only makes them faster is put on here, and can be taken off again. */
export const composeUseCases = ({ store, ...given }: Deps) => {
  const deps = { ...given, store, shareLoop }
  const { prospectsRememberedMax, observerOf } = given
  const logStore = { ...store, activities: remembering(store.activities, prospectsRememberedMax) }
  const logActivity = logProspectActivity({ ...deps, store: logStore })
  const pageStore = { ...store, pages: assumingActive(store.pages) }
  const options = (operation: string) => ({
    listsInFlightMax: READS_IN_FLIGHT_MAX,
    groupOf: tenantOf,
    observer: observerOf?.(operation),
  })
  const serialized = { ...deps, inTurn: createTurns() }
  const readers = eventReaders(deps, { ...options('eventData'), ...PAGES })
  const dataOf = eventData(readers)
  const sent = { ...deps, dataOf: eventData(readers, true) }
  const readFeed = gather(manyOf(listEvents({ ...deps, dataOf })), {
    ...options('listEvents'),
    ...FEED,
  })
  const reads = {
    getProspect: shareEqual(getProspect(deps)),
    listTimeline: shareEqual(listTimeline(deps)),
  }
  /** Each may be as large as a request. */
  const findMerged = gather(manyOf(store.prospects.find), {
    listLengthMax: 1,
    listsInFlightMax: 2,
    groupOf: tenantOf,
  })
  return {
    ...reads,
    getProspectLog: shareEqual(getProspectLog(deps)),
    getPage: shareEqual(getPage(deps), keyOfPage),
    getVersion: shareEqual(getVersion(deps)),
    getWebhookEndpoint: endpoints.getWebhookEndpoint(deps),
    logProspectActivity: logActivity,
    logProspectActivities: logProspectActivities({ ...deps, logProspectActivity: logActivity }),
    listProspects: shareEqual(listProspects(deps)),
    createProspect: createProspect(deps),
    updateProspect: updateProspect(deps),
    mergeProspect: mergeProspect(deps),
    exportProspect: exportProspect({ ...deps, ...reads, findMerged }),
    listProspectLogs: shareEqual(listProspectLogs(deps)),
    listProspectLogCounts: gather(manyOf(listProspectLogCounts(deps)), {
      ...options('listProspectLogCounts'),
      ...FEED,
    }),
    listPageGroups: shareEqual(listPageGroups(deps)),
    createPageGroup: createPageGroup(deps),
    getPageGroup: shareEqual(getPageGroup(deps)),
    updatePageGroup: updatePageGroup(serialized),
    deletePageGroup: deletePageGroup(serialized),
    listPages: shareEqual(listPages(deps)),
    createPageWithVersion: createPageWithVersion({ ...deps, store: pageStore }),
    updatePage: updatePage(serialized),
    deletePage: deletePage(serialized),
    listVersions: shareEqual(listVersions(deps)),
    createVersion: createVersion(serialized),
    publishVersion: publishVersion(serialized),
    unscheduleVersion: unscheduleVersion(serialized),
    unpublishPage: unpublishPage(serialized),
    eraseProspect: requestErasure(deps),
    listErasures: shareEqual(listErasures(deps)),
    getErasure: getErasure(deps),
    unblockErasure: unblockErasure(deps),
    listEvents: waitForEvents({
      ...deps,
      read: readFeed,
      looking: { ...options('waitForEvents'), listLengthMax: 64, dedupeKey: JSON.stringify },
    }),
    getEvent: getEvent({ ...deps, dataOf }),
    createWebhookEndpoint: endpoints.createWebhookEndpoint(deps),
    listWebhookEndpoints: endpoints.listWebhookEndpoints(deps),
    updateWebhookEndpoint: endpoints.updateWebhookEndpoint(deps),
    deleteWebhookEndpoint: endpoints.deleteWebhookEndpoint(deps),
    rotateWebhookSecret: endpoints.rotateWebhookSecret(deps),
    testWebhookEndpoint: testWebhookEndpoint(sent),
    listDeliveries: shareEqual(listDeliveries(deps)),
    getDelivery: getDelivery(sent),
    retryDelivery: retryDelivery(deps),
    replayDeliveries: replayDeliveries(deps),
    createHook: hooks.createHook(deps),
    listHooks: shareEqual(hooks.listHooks(deps)),
    getHook: hooks.getHook(deps),
    updateHook: hooks.updateHook(deps),
    deleteHook: hooks.deleteHook(deps),
    tryHook: tryHook(deps),
    getApiKey: getApiKey(deps),
  }
}

const tenantOf = ({ tenantId }: { readonly tenantId: string }): string => tenantId
