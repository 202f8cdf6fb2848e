import type { UseCases } from './operations/operations.ts'

/** Work that only something in the background completes. */
type Work = 'Pages' | 'Erasures, merges and webhooks'
/** Work that something in this process completes. */
const completedHere = new Set<Work>()
const warned = new Set<Work>()

/** Notes that this process publishes pages, over some store. */
export const notePublisher = (): void => {
  completedHere.add('Pages')
}
/** Notes that this process completes everything, over some store. */
export const noteBackground = (): void => {
  notePublisher()
  completedHere.add('Erasures, merges and webhooks')
}

/**
 * Wraps the use cases: warns once per process if something is accepted that nothing here completes. A reminder to start
 * the background; it does not check which store that works on.
 */
export const warnUnattended = (useCases: UseCases, background?: 'elsewhere'): UseCases => {
  if (background !== undefined) return useCases
  const warnPages = withWarning('Pages')
  const warnOthers = withWarning('Erasures, merges and webhooks')
  return {
    ...useCases,
    createPageWithVersion: warnPages(useCases.createPageWithVersion),
    createVersion: warnPages(useCases.createVersion),
    eraseProspect: warnOthers(useCases.eraseProspect),
    mergeProspect: warnOthers(useCases.mergeProspect),
    createWebhookEndpoint: warnOthers(useCases.createWebhookEndpoint),
  }
}

const withWarning =
  (work: Work) =>
  <Input, Answer>(useCase: (input: Input) => Promise<Answer>) =>
  async (input: Input): Promise<Answer> => {
    const answer = await useCase(input)
    if (!completedHere.has(work) && !warned.has(work)) {
      warned.add(work)
      process.emitWarning(`${work} ${NOT_COMPLETED}`)
    }
    return answer
  }

const NOT_COMPLETED =
  'are accepted, but this process does not complete them. Call startBackground({ store }) of ' +
  "prospect-pages/publisher, or set background: 'elsewhere' if other work completes them."
