import { shareLoop } from '../adapters/loop-share.ts'
import { shareEqual } from '../adapters/share-equal.ts'
import { type GatherObserver, gather } from '../adapters/stores/gather.ts'
import { readEach } from '../adapters/stores/read-each.ts'
import { remembering } from '../adapters/stores/remembering.ts'
import { listTimeline } from '../core/activities/list-timeline.ts'
import { logActivitiesTogether, logProspectActivity } from '../core/activities/log-prospect-activity.ts'
import { refuse } from '../core/engine/failures.ts'
import { createWriteQueue } from '../core/engine/write-queue.ts'
import { eventData, webhookEventData } from '../core/events/event-data.ts'
import type { ProspectKey } from '../core/ports/prospects.ts'
import { asWhole, type Needs, type Ports, type SmallStore } from '../core/ports/store.ts'
import { getProspect } from '../core/prospects/get-prospect.ts'
import { eventReaders } from './event-readers.ts'
import { fasterWith, gatheringWith } from './faster.ts'
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

/** The resources of events may each be as large as a body: at most 32 MiB of them at once. */
const EVENT_RESOURCES = { listLengthMax: 16 }
/** Waiting readers of one tenant share a read. */
const WAITING_READERS = { listLengthMax: 64 }

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

/** The operations over a store. */
export const composeUseCases = ({ store: offered, observerOf, ...settings }: Deps): UseCases => {
  const store = asWhole(offered)
  const tools = { ...settings, store, shareLoop, inQueue: createWriteQueue() }
  const gathering = gatheringWith(observerOf)
  const readers = eventReaders(tools, gathering('eventData', EVENT_RESOURCES))
  const activities = remembering(store.activities, settings.prospectsRememberedMax)
  const toolsToLog = { ...tools, store: { ...store, activities } }
  const deps: UseCaseDeps<keyof Ports> = {
    ...tools,
    dataOf: eventData(readers),
    webhookDataOf: webhookEventData(readers),
    logProspectActivity: logProspectActivity(toolsToLog),
    logActivitiesTogether: logActivitiesTogether(toolsToLog),
    getProspect: shareEqual(getProspect(tools)),
    listTimeline: shareEqual(listTimeline(tools)),
    // Each may be as large as a request.
    findMerged: gather(
      readEach((query: ProspectKey) => store.prospects.find(query)),
      {
        listLengthMax: 1,
        listsInFlightMax: 2,
        groupOf: ({ tenantId }) => tenantId,
      },
    ),
  }
  const faster = fasterWith({ tools, logProspectActivity: deps.logProspectActivity, gathering })
  const useCases = eachOperation<DeclaredUseCases>((name, operation) =>
    faster(name, operation, useCaseOf(name, operation, deps)),
  )
  const { createPageWithVersion, getPage, listEvents } = useCases
  return {
    ...useCases,
    createPageWithVersion: refusingMissingSchedules(offered, createPageWithVersion),
    getPage: waitForVersion({ pages: store.pages, read: getPage }),
    listEvents: waitForEvents({
      store,
      read: listEvents,
      gatherOptions: gathering('waitForEvents', WAITING_READERS),
    }),
  }
}

/** An operation that needs a part which the store lacks only refuses. */
const useCaseOf = (name: OperationId, operation: Operation, deps: UseCaseDeps<keyof Ports>) =>
  missingParts(operation, deps.store).length === 0
    ? operation.useCase(deps)
    : async () => requireParts(deps.store, name, ...operation.needs)

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
