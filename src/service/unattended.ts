import type { SmallStore } from '../core/ports/store.ts'
import type { UseCases } from './use-cases.ts'

/** Work that only something in the background completes. */
type Work = 'Pages' | 'Erasures, merges and webhooks'
type AnyStore = Pick<SmallStore, 'versions' | 'watch'>

/** The work that is done over a store, or was warned about, by a part that a store made from another one keeps. */
const attended = new WeakMap<object, Set<Work>>()
const attendedIn = ({ watch, versions }: AnyStore): Set<Work> => {
  const mark = watch ?? versions
  const works = attended.get(mark) ?? new Set()
  attended.set(mark, works)
  return works
}

/** Notes that this process publishes the pages of a store, or does everything in the background. */
export const notePublisher = (store: AnyStore): void => void attendedIn(store).add('Pages')
export const noteBackground = (store: AnyStore): void => {
  notePublisher(store)
  attendedIn(store).add('Erasures, merges and webhooks')
}

/** The use cases, with one warning when something is accepted that nothing in this process completes. */
export const warnUnattended = (useCases: UseCases, store: SmallStore, background?: 'elsewhere'): UseCases => {
  if (background !== undefined) return useCases
  const warned =
    (work: Work) =>
    <Input, Answer>(useCase: (input: Input) => Promise<Answer>) =>
    async (input: Input): Promise<Answer> => {
      const answer = await useCase(input)
      const works = attendedIn(store)
      if (!works.has(work)) process.emitWarning(`${work} ${NOT_COMPLETED}`)
      works.add(work)
      return answer
    }
  const ofPages = warned('Pages')
  const ofOthers = warned('Erasures, merges and webhooks')
  return {
    ...useCases,
    createPageWithVersion: ofPages(useCases.createPageWithVersion),
    createVersion: ofPages(useCases.createVersion),
    eraseProspect: ofOthers(useCases.eraseProspect),
    mergeProspect: ofOthers(useCases.mergeProspect),
    createWebhookEndpoint: ofOthers(useCases.createWebhookEndpoint),
  }
}

const NOT_COMPLETED =
  'are accepted, but this process does not complete them. Call startBackground({ store }) of ' +
  "prospect-pages/publisher, or set background: 'elsewhere' if other work completes them."
