import type { SmallStore } from '../core/ports/store.ts'
import type { UseCases } from './use-cases.ts'

/** What names a store: a store made from another one keeps its activities' `record`, or its `watch`. */
type StoreMark = object
const markOf = ({ watch, versions }: Pick<SmallStore, 'versions' | 'watch'>): StoreMark => watch ?? versions
const attended = new WeakSet<StoreMark>()

/** Notes that this process works in the background over a store. */
export const noteWorkers = (store: Pick<SmallStore, 'versions' | 'watch'>): void =>
  void attended.add(markOf(store))

/** The use cases, with one warning when something is accepted over a store without work in the background. */
export const warnUnattended = (useCases: UseCases, store: SmallStore, background?: 'elsewhere'): UseCases => {
  const warned =
    <Input, Answer>(useCase: (input: Input) => Promise<Answer>) =>
    async (input: Input): Promise<Answer> => {
      const answer = await useCase(input)
      if (background === undefined && !attended.has(markOf(store))) {
        process.emitWarning(
          'Pages, erasures, merges and webhooks are accepted, but this process does not complete them. Call ' +
            "startBackground({ store }) of prospect-pages/publisher, or set background: 'elsewhere' if other work " +
            'completes them.',
        )
        noteWorkers(store)
      }
      return answer
    }
  return {
    ...useCases,
    createPageWithVersion: warned(useCases.createPageWithVersion),
    createVersion: warned(useCases.createVersion),
    eraseProspect: warned(useCases.eraseProspect),
    mergeProspect: warned(useCases.mergeProspect),
    createWebhookEndpoint: warned(useCases.createWebhookEndpoint),
  }
}
