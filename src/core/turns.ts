/** Runs what concerns the same thing one after the other: writers that would only overtake each other wait instead. */
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
/** Within one process; by default nobody waits. */
export type Turns = { readonly inTurn?: ReturnType<typeof createTurns> }
export const atOnce: Required<Turns>['inTurn'] = (_, work) => work()
