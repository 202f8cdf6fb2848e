import { shareLoop } from '../adapters/loop-share.ts'
import { shareEqual } from '../adapters/share-equal.ts'
import { assumingUnchanged } from '../adapters/stores/assuming-unchanged.ts'
import { type GatherObserver, gather } from '../adapters/stores/gather.ts'
import { readEach } from '../adapters/stores/read-each.ts'
import { remembering } from '../adapters/stores/remembering.ts'
import { listTimeline } from '../core/activities/list-timeline.ts'
import { logActivitiesTogether, logProspectActivity } from '../core/activities/log-prospect-activity.ts'
import { refuse } from '../core/engine/failures.ts'
import { keyOf } from '../core/engine/keys.ts'
import { createWriteQueue } from '../core/engine/write-queue.ts'
import { eventData, webhookEventData } from '../core/events/event-data.ts'
import { createPageWithVersion } from '../core/pages/create-page-with-version.ts'
import type { PageReading } from '../core/pages/get-page.ts'
import type { ProspectKey } from '../core/ports/prospects.ts'
import { asWhole, type Needs, type Ports, type SmallStore } from '../core/ports/store.ts'
import { getProspect } from '../core/prospects/get-prospect.ts'
import { eventReaders } from './event-readers.ts'
import type { Operation, UseCaseDeps } from './operations/operation.ts'
import {
  type DeclaredUseCases,
  eachOperation,
  missingParts,
  type OperationId,
  requireParts,
  type UseCases,
} from './operations/operations.ts'
import { waitForEvents } from './wait-for-events.ts'
import { waitForVersion } from './wait-for-version.ts'

/** The embedded database reads one after the other; on PostgreSQL a second list fills the time the first one waits. */
const READS_IN_FLIGHT_MAX = 2
/** The resources of events may each be as large as a body: at most 32 MiB of them at once. */
const EVENT_RESOURCES = { listLengthMax: 16, dedupeKey: JSON.stringify }
/** Slices of the feed and counts are read separately: none waits for one that scans many rows. */
const SEPARATE_READS = { listLengthMax: 1, listsInFlightMax: 16, dedupeKey: JSON.stringify }
/** Each delivery reads its resource and fills in a template: those that wait for that share the answer to equal ones. */
const DELIVERIES = { listLengthMax: 1, listsInFlightMax: 2, dedupeKey: JSON.stringify }
/** Waiting readers of one tenant share a read. */
const WAITING_READS = { listLengthMax: 64, dedupeKey: JSON.stringify }
/** This takes half the time of `JSON.stringify`, and pages are read most often. */
const pageKey = ({ tenantId, pageGroupId, pageId, publishedOnly }: PageReading) =>
  publishedOnly ? keyOf(tenantId, pageGroupId, pageId, 'published') : keyOf(tenantId, pageGroupId, pageId)

export type UseCaseSettings = Pick<UseCaseDeps<never>, 'requireIdentity' | 'counts'> & {
  /** Prospects that need no look-up; 0: none. */
  readonly prospectsRememberedMax: number
}
type Deps = Omit<Needs<never>, 'store'> &
  Pick<UseCaseDeps<never>, 'webhooks' | 'hooks'> &
  UseCaseSettings & {
    readonly store: SmallStore
    readonly observerOf?: ((operation: string) => GatherObserver | undefined) | undefined
  }

/** The operations over a store. What only makes them faster is put on here, and can be taken off by deleting its line. */
export const composeUseCases = ({ store: offered, observerOf, ...settings }: Deps): UseCases => {
  const store = asWhole(offered)
  const tools = { ...settings, store, shareLoop, inQueue: createWriteQueue() }
  const gatherOptions = (operation: string) => ({
    listsInFlightMax: READS_IN_FLIGHT_MAX,
    groupOf: tenantOf,
    observer: observerOf?.(operation),
  })
  const readers = eventReaders(tools, { ...gatherOptions('eventData'), ...EVENT_RESOURCES })
  const logStore = {
    ...store,
    activities: remembering(store.activities, settings.prospectsRememberedMax),
  }
  const deps: UseCaseDeps<keyof Ports> = {
    ...tools,
    dataOf: eventData(readers),
    webhookDataOf: webhookEventData(readers),
    logProspectActivity: logProspectActivity({ ...tools, store: logStore }),
    logActivitiesTogether: logActivitiesTogether({ ...tools, store: logStore }),
    getProspect: shareEqual(getProspect(tools)),
    listTimeline: shareEqual(listTimeline(tools)),
    // Each may be as large as a request.
    findMerged: gather(
      readEach((query: ProspectKey) => store.prospects.find(query)),
      {
        listLengthMax: 1,
        listsInFlightMax: 2,
        groupOf: tenantOf,
      },
    ),
  }
  const useCases = eachOperation<DeclaredUseCases>((name, operation) => useCaseOf(name, operation, deps))

  return {
    ...useCases,
    ...sharingEqualReads(useCases),
    getPage: waitForVersion({ pages: store.pages, read: shareEqual(useCases.getPage, pageKey) }),
    logProspectActivity: deps.logProspectActivity,
    createPageWithVersion: refusingMissingSchedules(
      offered,
      createPageWithVersion({ ...tools, store: { pages: assumingUnchanged(store.pages) } }),
    ),
    listProspectLogCounts: gather(readEach(useCases.listProspectLogCounts), {
      ...gatherOptions('listProspectLogCounts'),
      ...SEPARATE_READS,
    }),
    getDelivery: gather(readEach(useCases.getDelivery), { ...gatherOptions('getDelivery'), ...DELIVERIES }),
    listEvents: waitForEvents({
      store,
      read: gather(readEach(useCases.listEvents), { ...gatherOptions('listEvents'), ...SEPARATE_READS }),
      gatherOptions: { ...gatherOptions('waitForEvents'), ...WAITING_READS },
    }),
  }
}

/** An operation that needs a part which the store lacks only refuses. */
const useCaseOf = (name: OperationId, operation: Operation, deps: UseCaseDeps<keyof Ports>) =>
  missingParts(operation, deps.store).length === 0
    ? operation.useCase(deps)
    : async () => requireParts(deps.store, name, ...operation.needs)

type Read = (query: { readonly tenantId: string }) => Promise<unknown>
/** Equal reads at the same moment share one answer, except those that return lines. */
const sharingEqualReads = (useCases: DeclaredUseCases): Partial<DeclaredUseCases> =>
  eachOperation((name, { method, lines }) =>
    method === 'GET' && !lines ? shareEqual(useCases[name] as Read) : useCases[name],
  )

type CreatePage = UseCases['createPageWithVersion']
/** Without schedules nothing would publish a page at a later time. */
const refusingMissingSchedules = ({ schedules }: SmallStore, createPage: CreatePage): CreatePage => {
  if (schedules !== undefined) return createPage
  return async (input) => {
    if (input.publishAt === undefined) return createPage(input)
    const errors = [{ detail: 'must not be given: the store has no schedules', pointer: '/publishAt' }]
    return refuse('invalid_request', 'The store has no `schedules`, which `publishAt` needs.', { errors })
  }
}

const tenantOf = ({ tenantId }: { readonly tenantId: string }): string => tenantId
