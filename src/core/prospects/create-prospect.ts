import type { AttributesMode } from '../../shapes/attributes.ts'
import type { MatchedProspect, NewProspect } from '../../shapes/prospect.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import type { Result } from '../engine/result.ts'
import { isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { ActivityChange } from '../ports/activities.ts'
import type { Requester } from '../ports/events.ts'
import type { Needs } from '../ports/store.ts'
import type { NewId, Timestamp } from '../ports/world.ts'
import { ignoredAttributes, sentAttributes } from './attributes.ts'
import { readProspect } from './get-prospect.ts'
import { identifiersOf, identifiersToLookUp, isIdentified, type SentIdentifiers } from './identifiers.ts'
import {
  addedProspect,
  conflictsOf,
  filledProspect,
  gainsOf,
  ignoringPlaceholderEmail,
  type KnownPerson,
  matchProspect,
  type Person,
  recallPerson,
} from './match-prospect.ts'
import { refuseUnidentified } from './refuse-unidentified.ts'

/** A prospect to create. */
export type ProspectCreation = NewProspect &
  Requester & { readonly tenantId: string; readonly attributesMode?: AttributesMode | undefined }
/** `created`: it did not exist before. */
export type CreatedProspect = Result<MatchedProspect> & { readonly created: boolean }

/**
 * Creates a prospect, or finds the one that exists and fills its blanks, by the same rules as when an activity is logged:
 * what the prospect does not take is left out, and named by `conflicts` and `ignored`. Refuses `prospect_erased`, and
 * `invalid_request` if neither email nor external id identifies it.
 */
export const createProspect =
  ({ store, clock, newId }: Needs<'activities' | 'prospects'>) =>
  async (creation: ProspectCreation): Promise<CreatedProspect> => {
    const { tenantId, name, attributesMode } = creation
    const matchable = identifiersOf(creation)
    if (!isIdentified(matchable)) refuseUnidentifiedProspect(creation)
    const lookup = { tenantId, identifiers: identifiersToLookUp(tenantId, matchable) }
    const attributes = sentAttributes(creation.attributes, attributesMode)
    const sent = { lookup, matchable, name: name?.trim() ? name : null, attributes }

    const decided = await decideAndSave({
      recall: () => recallPerson(store, sent),
      decide: (recalled) => {
        const { person, known } = ignoringPlaceholderEmail(sent, recalled)
        if (!isIdentified(person.matchable)) refuseUnidentifiedProspect(creation)
        return decide(creation, person, known, isoTime(clock()), newId)
      },
      record: (change) => store.activities.record(change, [eventOf(change, creation, newId)]),
    })
    const { value: prospect } = await readProspect({ store })({ tenantId, prospectId: decided.prospectId })
    const { conflicts, created, leftOut } = decided
    const ignored = leftOut.length === 0 ? {} : { ignored: ignoredAttributes(leftOut) }
    return { value: { ...prospect, conflicts, ...ignored }, created }
  }

const refuseUnidentifiedProspect = (creation: ProspectCreation): never =>
  refuseUnidentified(creation, 'A prospect needs an external id or an email.', UNIDENTIFIED)
const UNIDENTIFIED = { detail: 'is required without an email', pointer: '/externalId' }

const decide = (sent: SentIdentifiers, person: Person, known: KnownPerson, now: Timestamp, newId: NewId) => {
  const found = matchProspect(known, undefined, person.matchable)
  const gained = gainsOf(person, known, found)
  const saved = found
    ? filledProspect(found, person, known, gained, now)
    : addedProspect(person, known, gained, now, newId)
  const { prospect, unchangedSince } = saved
  return {
    answer: {
      prospectId: prospect.prospectId,
      created: found === undefined,
      conflicts: conflictsOf(sent, person, known, prospect),
      leftOut: gained.leftOut,
    },
    change: prospect.updatedAt === unchangedSince ? null : { lookup: person.lookup, ...saved, log: null },
  }
}

const eventOf = ({ prospect, unchangedSince }: ActivityChange, sender: ProspectCreation, newId: NewId) => {
  const type = unchangedSince === null ? 'prospect.created' : 'prospect.updated'
  return newEvent(newId, {
    type,
    sender,
    ids: { prospectId: prospect.prospectId },
    createdAt: prospect.updatedAt,
  })
}
