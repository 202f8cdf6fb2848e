import type { UseCases } from './use-cases.ts'

/** Work that only something in the background completes. */
type Work = 'Pages' | 'Erasures, merges and webhooks'
/** Work that something in this process completes, or that was warned about. */
const attended = new Set<Work>()

/** Notes that this process publishes pages, or does everything in the background, over some store. */
export const notePublisher = (): void => void attended.add('Pages')
export const noteBackground = (): void => {
  notePublisher()
  attended.add('Erasures, merges and webhooks')
}

/**
 * The use cases, with one warning in the life of this process when something is accepted that nothing here completes. It is
 * for who forgot the background: which of several stores it works on is not looked at.
 */
export const warnUnattended = (useCases: UseCases, background?: 'elsewhere'): UseCases => {
  if (background !== undefined) return useCases
  const warned =
    (work: Work) =>
    <Input, Answer>(useCase: (input: Input) => Promise<Answer>) =>
    async (input: Input): Promise<Answer> => {
      const answer = await useCase(input)
      if (!attended.has(work)) process.emitWarning(`${work} ${NOT_COMPLETED}`)
      attended.add(work)
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
