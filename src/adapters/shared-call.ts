import { gather } from './stores/gather.ts'

/** Callers that come while `work` runs share its next run, so each gets an answer that was begun after it came. */
export const sharedCall = <Answer>(work: () => Promise<Answer>): (() => Promise<Answer>) => {
  const share = gather(async () => [await work()], {
    listLengthMax: 1,
    listsInFlightMax: 1,
    dedupeKey: () => 'call',
  })
  return () => share(null)
}
