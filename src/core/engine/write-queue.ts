import type { ShareLoop } from '../ports/world.ts'
import { decideAndSave, type Steps } from './decide-and-save.ts'
import { atOnce } from './share-loop.ts'

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

/**
 * `decideAndSave` once earlier writers of the same page or page group have ended. What was loaded is decided and saved in
 * a turn of the tenant.
 */
export const writeQueued = <Known, Change, Answer>(
  { inQueue = (_, work) => work(), shareLoop = atOnce }: Queued,
  tenantId: string,
  id: string,
  { recall, decide, record }: Steps<Known, Change, Answer>,
): Promise<Answer> => {
  const recallInTurn = async (wasOvertaken: boolean): Promise<Known> => {
    const known = await recall(wasOvertaken)
    await shareLoop(tenantId)
    return known
  }
  return inQueue(id, () => decideAndSave({ recall: recallInTurn, decide, record }))
}
