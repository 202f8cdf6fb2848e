import type { MatchedProspect, NewProspect } from '../../shapes/prospect.ts'
import { assumedOf, knownProspects, recallWithSurvivors } from '../activities/known-prospects.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import { DomainFailure } from '../engine/failures.ts'
import { asOutcome, attemptEach, type Outcome } from '../engine/outcome.ts'
import { isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { ActivityWants, KnownActivities } from '../ports/activities.ts'
import type { NewEvent, Requester } from '../ports/events.ts'
import type { Needs } from '../ports/store.ts'
import { getProspect } from './get-prospect.ts'
import { identifiersOf, isIdentified, type Matchable, wantedBy } from './identifiers.ts'
import { refuseUnidentified } from './refuse-unidentified.ts'

/** A prospect to create. */
export type ProspectCreation = NewProspect & Requester & { readonly tenantId: string }
/** `created`: it did not exist before. */
export type CreatedProspect = { readonly prospect: MatchedProspect; readonly created: boolean }

/**
 * Creates prospects, many at once, or finds those that exist and fills their blanks, by the same rules as when an activity
 * is logged: an email of another prospect is left out, and `emailTakenBy` names its owner. Refuses, per prospect: `prospect_erased`, and `invalid_request` if neither email nor external id identifies it.
 */
export const createProspects =
  ({ store, clock, newId }: Needs<'activities' | 'prospects'>) =>
  async (inputs: readonly ProspectCreation[]): Promise<readonly Outcome<CreatedProspect>[]> => {
    const named = inputs.map((input) => ({ ...input, matchable: identifiersOf(input) }))

    /** Decides a list. Pure. A prospect sees the decisions for those before it in the list. */
    const decide = (some: readonly (typeof named)[number][], known: KnownActivities) => {
      const now = isoTime(clock())
      const prospects = knownProspects(known, now)
      /** At most one event for each prospect, by its id. */
      const events = new Map<string, NewEvent>()
      const outcomes = attemptEach(some, (input) => {
        const { tenantId, matchable } = input
        if (!isIdentified(matchable))
          refuseUnidentified(input, 'A prospect needs an external id or an email.', UNIDENTIFIED)
        const name = input.name?.trim() ? input.name : null
        const found = prospects.find(tenantId, undefined, matchable)
        const prospect = found
          ? prospects.filled(found, matchable, name)
          : prospects.added(tenantId, newId('prospect'), matchable, name)
        const { prospectId } = prospect
        const type = found ? 'prospect.updated' : 'prospect.created'
        if (prospect !== found && !events.has(prospectId))
          events.set(prospectId, newEvent(newId, type, input, { prospectId }, now))
        return {
          tenantId,
          prospectId,
          created: !found,
          emailTakenBy: prospects.emailTakenBy(prospect, matchable),
        }
      })
      if (events.size === 0) return { outcomes, changes: null }
      const decided = some.filter((_, i) => !(outcomes[i] instanceof DomainFailure))
      const assumed = assumedOf(wantsOf(decided).identifiers, known)
      return {
        outcomes,
        changes: { ...prospects.changes(), logs: [], assumed, events: [...events.values()] },
      }
    }

    const saved = await decideAndSave(named, {
      recall: (some) => recallWithSurvivors(store.activities, wantsOf(some)),
      decide,
      record: ({ events, ...changes }) => store.activities.record(changes, events),
    })
    const get = getProspect({ store })
    return Promise.all(
      saved.map(async (one) => {
        if (one instanceof DomainFailure) return one
        const { emailTakenBy, created, ...want } = one
        const prospect = await get(want).catch(asOutcome)
        return prospect instanceof DomainFailure
          ? prospect
          : { prospect: { ...prospect, emailTakenBy }, created }
      }),
    )
  }

const wantsOf = (
  inputs: readonly { readonly tenantId: string; readonly matchable: Matchable }[],
): ActivityWants => ({
  prospects: [],
  identifiers: inputs.flatMap(({ tenantId, matchable }) => wantedBy(tenantId, matchable)),
  keys: [],
  tenantIds: [],
})

const UNIDENTIFIED = { detail: 'is required without an email', pointer: '/externalId' }
