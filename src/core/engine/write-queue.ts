import type { ShareLoop } from '../ports/world.ts'
import { decideAndSave, type Steps } from './decide-and-save.ts'
import { atOnce } from './each-in-turn.ts'

/** Runs writes of the same resource one after the other: writers that would only overtake each other wait instead. */
export const createWriteQueue = () => {
  const last = new Map<string, Promise<unknown>>()
  return async <Answer>(id: string, work: () => Promise<Answer>): Promise<Answer> => {
    const result = (last.get(id) ?? Promise.resolve()).then(work, work)
    last.set(id, result)
    try {
      return await result
    } finally {
      if (last.get(id) === result) last.delete(id)
    }
  }
}
/** `inQueue` works within one process. By default writers do not wait for each other. */
export type Queued = {
  readonly inQueue?: ReturnType<typeof createWriteQueue> | undefined
  readonly shareLoop?: ShareLoop | undefined
}

type QueuedSteps<Found, Known, Change, Answer> = Omit<Steps<Known, Change, Answer>, 'recall'> & {
  readonly load: () => Promise<Found>
  readonly recall: (found: Found) => Promise<Known>
}

/**
 * `decideAndSave` once earlier writers of the same page or page group have ended. `load` finds it; then, in a turn of its
 * tenant, `recall` adds what else the decision needs.
 */
export const writeQueued = <Found extends { readonly tenantId: string }, Known, Change, Answer>(
  { inQueue = (_, work) => work(), shareLoop = atOnce }: Queued,
  id: string,
  { load, recall, ...steps }: QueuedSteps<Found, Known, Change, Answer>,
): Promise<Answer> => {
  const loadAndRecall = async () => {
    const found = await load()
    await shareLoop(found.tenantId)
    return recall(found)
  }
  return inQueue(id, () => decideAndSave({ ...steps, recall: loadAndRecall }))
}
