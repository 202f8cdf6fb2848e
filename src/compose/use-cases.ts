import type { UseCases } from '../adapters/http/route.ts'
import { createPagesWithVersion } from '../core/create-page-with-version.ts'
import { type GatherObserver, gather } from '../core/gather.ts'
import { getPages } from '../core/get-page.ts'
import { LIST_LENGTH_MAX } from '../core/in-order.ts'
import { listPageGroups } from '../core/list-page-groups.ts'
import { listPages } from '../core/list-pages.ts'
import { logProspectActivities } from '../core/log-prospect-activity.ts'
import type { Needs, Store } from '../core/ports/store.ts'
import { rememberProspects } from '../core/remember-prospects.ts'

/** Pages and slices may each be as large as a body. */
const READ_PAGES_MAX = 64
const READ_SLICES_MAX = 32
/** Answered in one turn of the event loop: writing 1 MiB of JSON takes milliseconds. */
const PAGES_AT_ONCE_MAX = 16
const SLICES_AT_ONCE_MAX = 4
const LIST_CHARACTERS_MAX = 4_194_304

type Deps = Needs<keyof Store> & {
  readonly requireIdentity: boolean
  /** Prospects that need no look-up; 0 turns it off. */
  readonly prospectsRememberedMax: number
  /** Lists of one operation in flight at a time. On PostgreSQL 2 is faster than 1. */
  readonly listsInFlightMax: number
  /** Lists of one tenant in flight at a time, if each list is to be of one tenant, as a cluster wants it. */
  readonly tenantListsMax?: number | undefined
  readonly observerOf?: ((operation: keyof UseCases) => GatherObserver | undefined) | undefined
}

/** The operations over a store, each gathering the calls that arrive together; equal reads share an answer. */
export const composeUseCases = ({
  store,
  clock,
  newId,
  requireIdentity,
  prospectsRememberedMax,
  listsInFlightMax,
  tenantListsMax,
  observerOf = () => undefined,
}: Deps): UseCases => {
  const options = (operation: keyof UseCases, listLengthMax = LIST_LENGTH_MAX) => ({
    listLengthMax,
    listsInFlightMax,
    listWeightMax: LIST_CHARACTERS_MAX,
    ...(tenantListsMax !== undefined && { groupOf: tenantOf, groupListsMax: tenantListsMax }),
    observer: observerOf(operation),
  })
  const read = (operation: keyof UseCases, listLengthMax: number, answersAtOnceMax: number) => ({
    ...options(operation, listLengthMax),
    dedupeKey: JSON.stringify,
    answersAtOnceMax,
  })
  const remembered = rememberProspects(prospectsRememberedMax, () => performance.now())
  const logAll = logProspectActivities({ store, clock, newId, requireIdentity, remembered })
  const gatherLogs = (operation: keyof UseCases, more = {}) =>
    gather(logAll, {
      ...options(operation),
      weightOf: ({ payload, email }) => payload.rawJson.length + lengthOf(email),
      ...more,
    })
  // Apart, so that no activity of a remembered prospect waits for the look-up of another one.
  const [logAtOnce, logWithLookup] = [gatherLogs('logProspectActivity'), gatherLogs('logProspectActivity')]
  // One list after the other, of each tenant on a cluster: their order is the order of the calls.
  const oneList = tenantListsMax === undefined ? { listsInFlightMax: 1 } : { groupListsMax: 1 }
  return {
    logProspectActivity: (activity) => (remembered.find(activity) ? logAtOnce : logWithLookup)(activity),
    logProspectActivities: gatherLogs('logProspectActivities', oneList),
    listPageGroups: gather(
      listPageGroups({ store }),
      read('listPageGroups', READ_SLICES_MAX, SLICES_AT_ONCE_MAX),
    ),
    listPages: gather(listPages({ store }), read('listPages', READ_SLICES_MAX, SLICES_AT_ONCE_MAX)),
    getPage: gather(getPages({ store }), read('getPage', READ_PAGES_MAX, PAGES_AT_ONCE_MAX)),
    createPageWithVersion: gather(createPagesWithVersion({ store, clock, newId }), {
      ...options('createPageWithVersion'),
      weightOf: ({ supplementaryContext, customName }) =>
        lengthOf(supplementaryContext) + lengthOf(customName),
    }),
  }
}

const tenantOf = ({ tenantId }: { readonly tenantId: string }): string => tenantId
const lengthOf = (text: string | null | undefined): number => text?.length ?? 0
