import type { UseCases } from '../adapters/http/route.ts'
import { createPagesWithVersion } from '../core/create-page-with-version.ts'
import { type GatherObserver, gather } from '../core/gather.ts'
import { getPages } from '../core/get-page.ts'
import { getErasure, listErasures } from '../core/list-erasures.ts'
import { listPageGroups } from '../core/list-page-groups.ts'
import { listPages } from '../core/list-pages.ts'
import { logProspectActivities } from '../core/log-prospect-activity.ts'
import type { Needs, Store } from '../core/ports/store.ts'
import { type RememberedProspects, rememberProspects } from '../core/remember-prospects.ts'
import { requestErasure } from '../core/request-erasure.ts'

/** A list of 200 costs little more than a list of one; a longer one keeps its callers waiting. */
export const LIST_LENGTH_MAX = 200
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
  /** The caller forgets them when prospects have changed. */
  readonly remembered?: RememberedProspects
  /** Lists of one operation in flight at a time. On PostgreSQL 2 is faster than 1. */
  readonly listsInFlightMax: number
  /** Lists of one tenant in flight at a time, if each list is to be of one tenant, as a cluster wants it. */
  readonly tenantListsMax?: number | undefined
  readonly observerOf?: ((operation: keyof UseCases) => GatherObserver | undefined) | undefined
}

/** The five operations over a store, each gathering the calls that arrive together; equal reads share an answer. */
export const composeUseCases = ({
  store,
  clock,
  newId,
  requireIdentity,
  prospectsRememberedMax,
  remembered = rememberProspects(prospectsRememberedMax, () => performance.now()),
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
  const logAll = logProspectActivities({ store, clock, newId, requireIdentity, remembered })
  const gatherLogs = () =>
    gather(logAll, {
      ...options('logProspectActivity'),
      weightOf: ({ payload, email }) => payload.rawJson.length + lengthOf(email),
    })
  // Apart, so that no activity of a remembered prospect waits for the look-up of another one.
  const [logAtOnce, logWithLookup] = [gatherLogs(), gatherLogs()]
  return {
    logProspectActivity: (activity) => (remembered.find(activity) ? logAtOnce : logWithLookup)(activity),
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
    eraseProspect: requestErasure({ store, clock, newId }),
    listErasures: gather(listErasures({ store }), read('listErasures', READ_SLICES_MAX, SLICES_AT_ONCE_MAX)),
    getErasure: getErasure({ store }),
  }
}

const tenantOf = ({ tenantId }: { readonly tenantId: string }): string => tenantId
const lengthOf = (text: string | null | undefined): number => text?.length ?? 0
