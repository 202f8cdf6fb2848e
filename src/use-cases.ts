import type { TracedPage, UseCases } from './adapters/http/routes.ts'
import { createPagesWithVersion } from './core/create-page-with-version.ts'
import { DomainFailure } from './core/failures.ts'
import { type GatherWatch, gather } from './core/gather.ts'
import { getPages } from './core/get-page.ts'
import { listPageGroups } from './core/list-page-groups.ts'
import { listPages } from './core/list-pages.ts'
import { logProspectActivities } from './core/log-prospect-activity.ts'
import type { Clock, NewId, Store } from './core/ports.ts'
import { charactersOf } from './core/slices.ts'

/** A list of 200 costs little more than a list of one; a longer one keeps its callers waiting. */
export const LIST_LENGTH_MAX = 200
/** Pages that are read, and names that are listed, may be as heavy as a body may be. */
const READ_PAGES_MAX = 64
const READ_SLICES_MAX = 32
const LIST_CHARACTERS_MAX = 4_194_304

type Deps = {
  readonly store: Store
  readonly clock: Clock
  readonly newId: NewId
  /** What is told of the lists of an operation. */
  readonly watch?: ((operation: keyof UseCases) => GatherWatch | undefined) | undefined
  /** Told of each page that was created, before anybody names it. */
  readonly onPage?: ((pageId: string, input: TracedPage) => void) | undefined
}

/** The five operations over a store, each gathering the calls that arrive together; equal reads share an answer. */
export const composeUseCases = (
  { store, clock, newId, watch = () => undefined, onPage = () => {} }: Deps,
  config: { readonly requireIdentity: boolean; readonly queuedCallsMax: number },
  listsUnderWayMax: number,
): UseCases => {
  const limits = {
    listLengthMax: LIST_LENGTH_MAX,
    listWeightMax: LIST_CHARACTERS_MAX,
    listsUnderWayMax,
    queuedMax: config.queuedCallsMax,
  }
  const lineOf = ({ tenantId }: { readonly tenantId: string }) => tenantId
  const read = (operation: keyof UseCases) => ({ lineOf, sameAs: JSON.stringify, watch: watch(operation) })
  const create = createPagesWithVersion({ store, clock, newId })
  const createPages = async (inputs: readonly TracedPage[]) => {
    const outcomes = await create(inputs)
    outcomes.forEach((outcome, i) => {
      if (!(outcome instanceof DomainFailure || outcome.replayed))
        onPage(outcome.page.pageId, inputs[i] as TracedPage)
    })
    return outcomes
  }
  return {
    logProspectActivity: gather(
      logProspectActivities({ store, clock, newId, requireIdentity: config.requireIdentity }),
      limits,
      {
        lineOf,
        weightOf: ({ payload, email }) => payload.rawJson.length + (email?.length ?? 0),
        watch: watch('logProspectActivity'),
      },
    ),
    listPageGroups: gather(
      listPageGroups({ store }),
      { ...limits, listLengthMax: READ_SLICES_MAX },
      { ...read('listPageGroups'), answerWeightOf: charactersOf },
    ),
    listPages: gather(
      listPages({ store }),
      { ...limits, listLengthMax: READ_SLICES_MAX },
      { ...read('listPages'), answerWeightOf: charactersOf },
    ),
    getPage: gather(
      getPages({ store }),
      { ...limits, listLengthMax: READ_PAGES_MAX },
      { ...read('getPage'), answerWeightOf: charactersOf },
    ),
    createPageWithVersion: gather(createPages, limits, {
      lineOf,
      weightOf: ({ supplementaryContext, customName }) =>
        (supplementaryContext?.length ?? 0) + (customName?.length ?? 0),
      watch: watch('createPageWithVersion'),
    }),
  }
}
