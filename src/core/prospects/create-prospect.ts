import type { MatchedProspect, NewProspect } from '../../shapes/prospect.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import type { Result } from '../engine/result.ts'
import { isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { ActivityChange, KnownActivity } from '../ports/activities.ts'
import type { Requester } from '../ports/events.ts'
import type { Needs } from '../ports/store.ts'
import type { NewId, Timestamp } from '../ports/world.ts'
import { readProspect } from './get-prospect.ts'
import { identifiersOf, identifiersToLookUp, isIdentified, type SentIdentifiers } from './identifiers.ts'
import {
  addedProspect,
  conflictsOf,
  filledProspect,
  matchProspect,
  type Person,
  recallWithSurvivor,
  withoutPlaceholder,
} from './match-prospect.ts'
import { refuseUnidentified } from './refuse-unidentified.ts'

/** A prospect to create. */
export type ProspectCreation = NewProspect & Requester & { readonly tenantId: string }
/** `created`: it did not exist before. */
export type CreatedProspect = Result<MatchedProspect> & { readonly created: boolean }

/**
 * Creates a prospect, or finds the one that exists and fills its blanks, by the same rules as when an activity is logged:
 * what the prospect does not take is left out, and named by `conflicts`. Refuses `prospect_erased`, and `invalid_request` if
 * neither email nor external id identifies it.
 */
export const createProspect =
  ({ store, clock, newId }: Needs<'activities' | 'prospects'>) =>
  async (creation: ProspectCreation): Promise<CreatedProspect> => {
    const { tenantId, name } = creation
    const matchable = identifiersOf(creation)
    if (!isIdentified(matchable)) refuseUnidentifiedProspect(creation)
    const lookup = { tenantId, identifiers: identifiersToLookUp(tenantId, matchable) }
    const sent = { lookup, matchable, name: name?.trim() ? name : null }

    const decided = await decideAndSave({
      recall: () => recallWithSurvivor(store.activities, lookup),
      decide: (recalled) => {
        const { person, known } = withoutPlaceholder(sent, recalled)
        if (!isIdentified(person.matchable)) refuseUnidentifiedProspect(creation)
        return decide(creation, person, known, isoTime(clock()), newId)
      },
      record: (change) => store.activities.record(change, [eventOf(change, creation, newId)]),
    })
    const { value: prospect } = await readProspect({ store })({ tenantId, prospectId: decided.prospectId })
    return { value: { ...prospect, conflicts: decided.conflicts }, created: decided.created }
  }

const refuseUnidentifiedProspect = (creation: ProspectCreation): never =>
  refuseUnidentified(creation, 'A prospect needs an external id or an email.', UNIDENTIFIED)
const UNIDENTIFIED = { detail: 'is required without an email', pointer: '/externalId' }

const decide = (
  sent: SentIdentifiers,
  person: Person,
  known: KnownActivity,
  now: Timestamp,
  newId: NewId,
) => {
  const found = matchProspect(known, undefined, person.matchable)
  const saved = found ? filledProspect(found, person, known, now) : addedProspect(person, known, now, newId)
  const { prospect, unchangedSince } = saved
  return {
    answer: {
      prospectId: prospect.prospectId,
      created: found === undefined,
      conflicts: conflictsOf(sent, person, known, prospect),
    },
    change: prospect.updatedAt === unchangedSince ? null : { lookup: person.lookup, ...saved, log: null },
  }
}

const eventOf = ({ prospect, unchangedSince }: ActivityChange, sender: ProspectCreation, newId: NewId) => {
  const type = unchangedSince === null ? 'prospect.created' : 'prospect.updated'
  return newEvent(newId, type, sender, { prospectId: prospect.prospectId }, prospect.updatedAt)
}
