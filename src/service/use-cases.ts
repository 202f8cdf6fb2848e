import { manyOf } from '../adapters/http/many-of.ts'
import { shareEqual } from '../adapters/http/share-equal.ts'
import { shareLoop } from '../adapters/http/share-loop.ts'
import { assumingActive } from '../adapters/stores/assuming-active.ts'
import { type GatherObserver, gather } from '../adapters/stores/gather.ts'
import { remembering } from '../adapters/stores/remembering.ts'
import { listTimeline } from '../core/activities/list-timeline.ts'
import { logProspectActivity } from '../core/activities/log-prospect-activity.ts'
import { refuse } from '../core/engine/failures.ts'
import { keyOf } from '../core/engine/keys.ts'
import { createWriteQueue } from '../core/engine/write-queue.ts'
import { eventData } from '../core/events/event-data.ts'
import { createPageWithVersion } from '../core/pages/create-page-with-version.ts'
import type { PageWant } from '../core/ports/pages.ts'
import type { ProspectWant } from '../core/ports/prospects.ts'
import type { Needs, Ports, SmallStore, Store } from '../core/ports/store.ts'
import { getProspect } from '../core/prospects/get-prospect.ts'
import { eventReaders } from './event-readers.ts'
import type { Operation, UseCaseDeps } from './operations/operation.ts'
import {
  missingParts,
  type OperationId,
  type Operations,
  operations,
  requireParts,
} from './operations/operations.ts'
import { waitForEvents } from './wait-for-events.ts'

/** The embedded database reads one after the other; on PostgreSQL a second list fills the time the first one waits. */
const READS_IN_FLIGHT_MAX = 2
/** The resources of events may each be as large as a body. */
const PAGES = { listLengthMax: 64, dedupeKey: JSON.stringify }
/** This takes half the time of `JSON.stringify`, and pages are read most often. */
const keyOfPage = ({ tenantId, pageGroupId, pageId }: PageWant) => keyOf(tenantId, pageGroupId, pageId)
/** Each slice of the feed is read separately: none waits for one that looks for rare types. */
const FEED = { listLengthMax: 1, listsInFlightMax: 16, dedupeKey: JSON.stringify }

export type UseCaseSettings = Pick<UseCaseDeps<never>, 'requireIdentity' | 'counts'> & {
  /** Prospects that need no look-up; 0: none. */
  readonly prospectsRememberedMax: number
}
export type Optional<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined }
type Deps = Omit<Needs<never>, 'store'> &
  Pick<UseCaseDeps<never>, 'webhooks' | 'hooks'> &
  UseCaseSettings & {
    readonly store: SmallStore
    readonly observerOf?: ((operation: string) => GatherObserver | undefined) | undefined
  }

/** Every operation as a function of its input. */
export type UseCases = Omit<Made, 'listEvents'> & { readonly listEvents: ReturnType<typeof waitForEvents> }
type Made = { readonly [Name in OperationId]: ReturnType<Operations[Name]['useCase']> }

/** The operations over a store. What only makes them faster is put on here, and can be taken off again. */
export const composeUseCases = ({ store: offered, observerOf, ...settings }: Deps): UseCases => {
  // No operation whose part of the store is missing is made.
  const store = offered as Store
  const plain = { ...settings, store, shareLoop, inQueue: createWriteQueue() }
  const options = (operation: string) => ({
    listsInFlightMax: READS_IN_FLIGHT_MAX,
    groupOf: tenantOf,
    observer: observerOf?.(operation),
  })
  const readers = eventReaders(plain, { ...options('eventData'), ...PAGES })
  const remembered = { ...store, activities: remembering(store.activities, settings.prospectsRememberedMax) }
  const deps: UseCaseDeps<keyof Ports> = {
    ...plain,
    dataOf: eventData(readers),
    webhookDataOf: eventData(readers, true),
    logProspectActivity: logProspectActivity({ ...plain, store: remembered }),
    getProspect: shareEqual(getProspect(plain)),
    listTimeline: shareEqual(listTimeline(plain)),
    // Each may be as large as a request.
    findMerged: gather(
      manyOf((want: ProspectWant) => store.prospects.find(want)),
      { listLengthMax: 1, listsInFlightMax: 2, groupOf: tenantOf },
    ),
  }
  const createPage = createPageWithVersion({
    ...plain,
    store: { ...store, pages: assumingActive(store.pages) },
  })
  const made = eachOperation((name, operation) => useCaseOf(name, operation, deps))
  /** Equal reads at the same moment share one answer. */
  const shared = eachOperation((name, { method, lines }) =>
    method === 'GET' && !lines ? shareEqual(made[name] as AnyUseCase) : made[name],
  )

  return {
    ...shared,
    logProspectActivity: deps.logProspectActivity,
    createPageWithVersion: offered.schedules === undefined ? withoutSchedules(createPage) : createPage,
    getPage: shareEqual(made.getPage, keyOfPage),
    listProspectLogCounts: gather(manyOf(made.listProspectLogCounts), {
      ...options('listProspectLogCounts'),
      ...FEED,
    }),
    listEvents: waitForEvents({
      ...plain,
      read: gather(manyOf(made.listEvents), { ...options('listEvents'), ...FEED }),
      looking: { ...options('waitForEvents'), listLengthMax: 64, dedupeKey: JSON.stringify },
    }),
  }
}

type AnyUseCase = (input: { readonly tenantId: string }) => Promise<unknown>
const eachOperation = (make: (name: OperationId, operation: Operation) => unknown): Made => {
  const all: readonly (readonly [string, Operation])[] = Object.entries(operations)
  return Object.fromEntries(
    all.map(([name, operation]) => [name, make(name as OperationId, operation)]),
  ) as Made
}

/** An operation that needs a part which the store lacks only refuses. */
const useCaseOf = (name: OperationId, operation: Operation, deps: UseCaseDeps<keyof Ports>) =>
  missingParts(operation, deps.store).length === 0
    ? operation.useCase(deps)
    : async () => requireParts(deps.store, name, ...operation.needs)

/** Nothing would publish a page at a later time. */
const withoutSchedules =
  (createPage: UseCases['createPageWithVersion']): UseCases['createPageWithVersion'] =>
  async (input) => {
    if (input.publishAt === undefined) return createPage(input)
    const errors = [{ detail: 'must not be given: the store has no schedules', pointer: '/publishAt' }]
    return refuse('invalid_request', 'The store has no `schedules`, which `publishAt` needs.', { errors })
  }

const tenantOf = ({ tenantId }: { readonly tenantId: string }): string => tenantId
