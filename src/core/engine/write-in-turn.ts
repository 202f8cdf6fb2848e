import type { ShareLoop } from '../ports/world.ts'
import { atOnce } from './each-in-turn.ts'
import { refuse } from './failures.ts'
import { untilRecorded } from './until-recorded.ts'

/** The revisions of a page or page group that a change accepts. Undefined: any. */
export type IfRevision = { readonly ifRevision?: readonly number[] | undefined }

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

/**
 * Loads a page or page group, then writes; starts again on a conflict. Refuses `precondition_failed`, with the current
 * revision, if `ifRevision` does not contain it.
 */
export const writeInTurn = <Found extends { readonly tenantId: string; readonly revision: number }, Answer>(
  { inTurn = (_, work) => work(), shareLoop = atOnce }: Turns,
  id: string,
  { ifRevision }: IfRevision,
  load: () => Promise<Found>,
  write: (found: Found) => Promise<Answer | 'overtaken'>,
): Promise<Answer> =>
  inTurn(id, () =>
    untilRecorded(async () => {
      const found = await load()
      const { revision } = found
      if (ifRevision?.includes(revision) === false)
        refuse('precondition_failed', `The revision is now ${revision}.`, { revision })
      await shareLoop(found.tenantId)
      return write(found)
    }),
  )
