import { shareEqual } from '../adapters/share-equal.ts'
import { type GatherObserver, type GatherOptions, gather } from '../adapters/stores/gather.ts'
import { readEach } from '../adapters/stores/read-each.ts'
import { rememberingGroups } from '../adapters/stores/remembering-groups.ts'
import { keyOf } from '../core/engine/keys.ts'
import { createPageWithVersion } from '../core/pages/create-page-with-version.ts'
import type { PageReading } from '../core/pages/get-page.ts'
import type { Needs } from '../core/ports/store.ts'
import type { Operation } from './operations/operation.ts'
import type { DeclaredUseCases, OperationId } from './operations/operations.ts'

type OfTenant = { readonly tenantId: string }
type UseCase = (input: never) => Promise<unknown>

/** The options of gathering the calls of an operation, under which its metrics are reported. */
type GatheringOf = (
  name: string,
  options: Pick<GatherOptions<OfTenant>, 'listLengthMax'> & Partial<GatherOptions<OfTenant>>,
) => GatherOptions<OfTenant>

/** Equal reads that wait share an answer. Unless an operation says otherwise, two lists are read at a time. */
export const gatheringWith =
  (observerOf?: (name: string) => GatherObserver | undefined): GatheringOf =>
  (name, options) => ({
    // The embedded database reads one after the other; on PostgreSQL a second list fills the time the first one waits.
    listsInFlightMax: 2,
    groupOf: ({ tenantId }) => tenantId,
    dedupeKey: JSON.stringify,
    observer: observerOf?.(name),
    ...options,
  })

/** Slices of the feed and counts are read one by one: none waits for one that scans many rows. */
const ONE_BY_ONE = { listLengthMax: 1, listsInFlightMax: 16 }
/** Each delivery reads its resource and fills in a template, so only two are made at a time. */
const TWO_AT_A_TIME = { listLengthMax: 1, listsInFlightMax: 2 }

/** This takes half the time of `JSON.stringify`, and pages are read most often. */
const keyOfPage = ({ tenantId, pageGroupId, pageId, publishedOnly }: PageReading) =>
  publishedOnly ? keyOf(tenantId, pageGroupId, pageId, 'published') : keyOf(tenantId, pageGroupId, pageId)

type Deps = {
  readonly tools: Needs<'pages'>
  /** Logs over a store that remembers prospects. */
  readonly logProspectActivity: DeclaredUseCases['logProspectActivity']
  readonly gathering: GatheringOf
}
type Table = { readonly [Name in OperationId]?: (useCase: DeclaredUseCases[Name]) => DeclaredUseCases[Name] }

/** Makes a use case faster, and does nothing else: each line of the table can be deleted. */
export const fasterWith = ({ tools, logProspectActivity, gathering }: Deps) => {
  const table: Table = {
    logProspectActivity: () => logProspectActivity,
    createPageWithVersion: () =>
      createPageWithVersion({ ...tools, store: { pages: rememberingGroups(tools.store.pages) } }),
    getPage: (read) => shareEqual(read, keyOfPage),
    listEvents: (read) => gather(readEach(read), gathering('listEvents', ONE_BY_ONE)),
    listProspectLogCounts: (read) => gather(readEach(read), gathering('listProspectLogCounts', ONE_BY_ONE)),
    getDelivery: (read) => gather(readEach(read), gathering('getDelivery', TWO_AT_A_TIME)),
  }
  return (name: OperationId, { method, lines }: Operation, useCase: UseCase): UseCase => {
    const makeFaster = table[name] as ((useCase: UseCase) => UseCase) | undefined
    if (makeFaster !== undefined) return makeFaster(useCase)
    // Equal reads at the same moment share one answer, except those that return lines.
    return method === 'GET' && !lines ? shareEqual(useCase as (query: OfTenant) => Promise<unknown>) : useCase
  }
}
