/**
 * What calls take for themselves, such as an email to add. No two calls that claim the same are in flight at once, and
 * none passes an earlier one. Once a call `wins`, those that wait for the same get the answer of those that lost.
 */
export type ClaimRules<Input, Answer> = {
  readonly of: (input: Input) => readonly string[]
  readonly wins: (answer: Answer) => boolean
  readonly lost: Answer
}

/** A call with what it claims. */
type Claiming = { readonly claims: readonly string[] }

/** The claims of the calls in flight. */
export const createClaims = () => {
  const inFlight = new Set<string>()
  return {
    /** The waiting calls that may begin: none that claims what a call in flight or an earlier waiting one claims. */
    startable: <Call extends Claiming>(waiting: readonly Call[]): Call[] => {
      const taken = new Set(inFlight)
      return waiting.filter(({ claims }) => {
        const isFree = !claims.some((claim) => taken.has(claim))
        for (const claim of claims) taken.add(claim)
        return isFree
      })
    },

    acquire: (list: readonly Claiming[]): void => {
      for (const { claims } of list) {
        for (const claim of claims) inFlight.add(claim)
      }
    },

    release: (list: readonly Claiming[]): void => {
      for (const { claims } of list) {
        for (const claim of claims) inFlight.delete(claim)
      }
    },
  }
}

/** The waiting calls that claim what the winner claimed. */
export const losersTo = <Call extends Claiming>(winner: Claiming, waiting: readonly Call[]): Set<Call> => {
  const won = new Set(winner.claims)
  return new Set(waiting.filter(({ claims }) => claims.some((claim) => won.has(claim))))
}
