import type { ShareLoop } from '../ports/world.ts'
import { decideAndSave, type Steps } from './decide-and-save.ts'
import { atOnce } from './each-in-turn.ts'
import { refuse } from './failures.ts'

/** Runs writes of the same resource one after the other: writers that would only overtake each other wait instead. */
export const createTurns = () => {
  const last = new Map<string, Promise<unknown>>()
  return async <Answer>(thing: string, work: () => Promise<Answer>): Promise<Answer> => {
    const mine = (last.get(thing) ?? Promise.resolve()).then(work, work)
    last.set(thing, mine)
    try {
      return await mine
    } finally {
      if (last.get(thing) === mine) last.delete(thing)
    }
  }
}
/** Serializes within one process. By default writers do not wait for each other. */
export type Turns = {
  readonly inTurn?: ReturnType<typeof createTurns> | undefined
  readonly shareLoop?: ShareLoop | undefined
}

type StepsInTurn<Found, Known, Change, Answer> = Omit<Steps<Known, Change, Answer>, 'recall'> & {
  readonly load: () => Promise<Found>
  readonly recall: (found: Found) => Promise<Known>
}

/**
 * `decideAndSave` once other writers of the same page or page group have ended. `load` finds it; then, in a turn of its
 * tenant, `recall` adds what else the decision needs.
 */
export const writeInTurn = <Found extends { readonly tenantId: string }, Known, Change, Answer>(
  { inTurn = (_, work) => work(), shareLoop = atOnce }: Turns,
  id: string,
  { load, recall, ...steps }: StepsInTurn<Found, Known, Change, Answer>,
): Promise<Answer> => {
  const recallInTurn = async () => {
    const found = await load()
    await shareLoop(found.tenantId)
    return recall(found)
  }
  return inTurn(id, () => decideAndSave({ ...steps, recall: recallInTurn }))
}

/** The revisions of a page or page group that a change accepts. Undefined: any. */
export type IfRevision = { readonly ifRevision?: readonly number[] | undefined }

/** Refuses `precondition_failed`, with the current revision, if `ifRevision` does not contain it. */
export const requireRevision = (
  { revision }: { readonly revision: number },
  { ifRevision }: IfRevision,
): void => {
  if (ifRevision?.includes(revision) === false)
    refuse('precondition_failed', `The revision is now ${revision}.`, { revision })
}
