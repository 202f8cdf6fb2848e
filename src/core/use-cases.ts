import { getProspectLog } from './activities/get-prospect-log.ts'
import { listProspectLogs } from './activities/list-prospect-logs.ts'
import { listTimeline } from './activities/list-timeline.ts'
import { gatherActivities, logProspectActivities } from './activities/log-prospect-activity.ts'
import type { NewActivity } from './activities/new-log.ts'
import { type RememberedProspects, rememberProspects } from './activities/remember-prospects.ts'
import { listProspectLogCounts } from './counts/list-prospect-log-counts.ts'
import { type GatherObserver, gather } from './engine/gather.ts'
import { LIST_LENGTH_MAX, manyOf } from './engine/in-order.ts'
import { keyOf } from './engine/keys.ts'
import { shareEqual } from './engine/share-equal.ts'
import { createTurns } from './engine/write-in-turn.ts'
import { getErasure, listErasures, unblockErasure } from './erasures/list-erasures.ts'
import { requestErasure } from './erasures/request-erasure.ts'
import { eventData } from './events/event-data.ts'
import { getEvent, listEvents } from './events/list-events.ts'
import { waitForEvents } from './events/wait-for-events.ts'
import * as hooks from './hooks/hooks.ts'
import { tryHook } from './hooks/try-hook.ts'
import { createPageGroup } from './pages/create-page-group.ts'
import { createPagesWithVersion } from './pages/create-page-with-version.ts'
import { createVersion } from './pages/create-version.ts'
import { getPage } from './pages/get-page.ts'
import { getPageGroup } from './pages/get-page-group.ts'
import type { HandOver } from './pages/hand-over.ts'
import { listPageGroups } from './pages/list-page-groups.ts'
import { listPages } from './pages/list-pages.ts'
import { getVersion, listVersions } from './pages/list-versions.ts'
import { publishVersion, unpublishPage, unscheduleVersion } from './pages/publish-version.ts'
import { deletePage, updatePage } from './pages/update-page.ts'
import { deletePageGroup, updatePageGroup } from './pages/update-page-group.ts'
import type { PageWant } from './ports/pages.ts'
import type { Needs, Store } from './ports/store.ts'
import { createProspects } from './prospects/create-prospect.ts'
import { exportProspect } from './prospects/export-prospect.ts'
import { getProspect } from './prospects/get-prospect.ts'
import { listProspects } from './prospects/list-prospects.ts'
import { mergeProspect } from './prospects/merge-prospect.ts'
import { updateProspect } from './prospects/update-prospect.ts'
import { eventReaders } from './readers.ts'
import { getApiKey } from './tenants/get-api-key.ts'
import {
  getDelivery,
  listDeliveries,
  replayDeliveries,
  retryDelivery,
  testWebhookEndpoint,
} from './webhooks/deliveries.ts'
import * as endpoints from './webhooks/webhook-endpoints.ts'

/** The resources of events may each be as large as a body. */
const PAGES = { listLengthMax: 64, dedupeKey: JSON.stringify }
/** This takes half the time of `JSON.stringify`, and pages are read most often. */
const keyOfPage = ({ tenantId, pageGroupId, pageId }: PageWant) => keyOf(tenantId, pageGroupId, pageId)
/** Each slice of the feed is read separately: none waits for one that looks for rare types. */
const FEED = { listLengthMax: 1, listsInFlightMax: 16, dedupeKey: JSON.stringify }
const LIST_CHARACTERS_MAX = 1_048_576

export type UseCaseSettings = {
  /** Refuse an activity without a prospect id, an external id or an email to find its prospect by. */
  readonly requireIdentity: boolean
  /** Prospects that need no look-up; 0: none. */
  readonly prospectsRememberedMax: number
  /** Whether activities are counted. */
  readonly counts: boolean
  /** Lists of one operation in flight at a time, on PostgreSQL 2 is faster than 1. */
  readonly listsInFlightMax: number
}
export type Optional<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined }
type Deps = Needs<keyof Store> &
  UseCaseSettings & {
    /** The memory of prospects, if something else also makes it forget. */
    readonly remembered?: RememberedProspects
    readonly webhooks: endpoints.WebhookTools
    readonly hooks: hooks.HookTools
    readonly handOver?: HandOver | undefined
    readonly observerOf?: ((operation: string) => GatherObserver | undefined) | undefined
  }

/** The use cases of a service: see `composeUseCases`. */
export type UseCases = ReturnType<typeof composeUseCases>

/** The operations over a store, each gathering the calls that arrive together; equal reads share an answer. */
export const composeUseCases = (deps: Deps) => {
  const { prospectsRememberedMax, listsInFlightMax, observerOf } = deps
  const remembered = deps.remembered ?? rememberProspects(prospectsRememberedMax)
  const options = (operation: string) => ({
    listLengthMax: LIST_LENGTH_MAX,
    listsInFlightMax,
    listWeightMax: LIST_CHARACTERS_MAX,
    groupOf: tenantOf,
    observer: observerOf?.(operation),
  })
  const serialized = { ...deps, inTurn: createTurns() }
  const logAll = logProspectActivities({ ...deps, remembered })
  const createAll = createProspects(deps)
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
  return {
    ...reads,
    getProspectLog: shareEqual(getProspectLog(deps)),
    getPage: shareEqual(getPage(deps), keyOfPage),
    getVersion: shareEqual(getVersion(deps)),
    getWebhookEndpoint: endpoints.getWebhookEndpoint(deps),
    logProspectActivity: gatherActivities(logAll, remembered, options('logProspectActivity')),
    /** Logs a list: an activity finds prospects created by those before it. */
    logProspectActivities: (activities: readonly NewActivity[]) => logAll(activities.map(remembered.locate)),
    listProspects: shareEqual(listProspects(deps)),
    createProspect: gather(createAll, {
      ...options('createProspect'),
      weightOf: ({ email, name }) => lengthOf(email) + lengthOf(name),
    }),
    updateProspect: updateProspect(deps),
    mergeProspect: mergeProspect(deps),
    exportProspect: exportProspect({ ...deps, ...reads }),
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
    createPageWithVersion: gather(createPagesWithVersion(deps), {
      ...options('createPageWithVersion'),
      weightOf: ({ supplementaryContext, customName, content }) =>
        lengthOf(supplementaryContext) + lengthOf(customName) + lengthOf(content?.rawJson),
    }),
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
      looking: { ...options('waitForEvents'), dedupeKey: JSON.stringify },
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
const lengthOf = (text: string | null | undefined): number => text?.length ?? 0
