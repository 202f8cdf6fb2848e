import type { Store } from '../core/ports/store.ts'
import type { UseCases } from './use-cases.ts'

/** Stores with work in the background, or warned about, by `watch`, which a store made from another one keeps. */
export const storesWithWorkers = new WeakSet<Store['watch']>()

/** The use cases, with one warning when something is accepted over a store without work in the background. */
export const warnUnattended = (useCases: UseCases, { watch }: Store, background?: 'elsewhere'): UseCases => {
  const warn = <Answer>(answer: Answer): Answer => {
    if (background === undefined && !storesWithWorkers.has(watch)) {
      process.emitWarning(
        'Erasures, merges and webhooks are accepted, but this process does not complete them. Call startBackground({ store }) ' +
          "of prospect-pages/publisher, or set background: 'elsewhere' if other work completes them.",
      )
      storesWithWorkers.add(watch)
    }
    return answer
  }
  return {
    ...useCases,
    eraseProspect: (request) => useCases.eraseProspect(request).then(warn),
    mergeProspect: (merge) => useCases.mergeProspect(merge).then(warn),
    createWebhookEndpoint: (endpoint) => useCases.createWebhookEndpoint(endpoint).then(warn),
  }
}
