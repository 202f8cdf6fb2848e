import type { Prospect, ProspectChanges } from '../../shapes/prospect.ts'
import { prospectErased, prospectNotFound, refuse } from '../engine/failures.ts'
import { isoTime, laterThan } from '../engine/times.ts'
import { untilRecorded } from '../engine/until-recorded.ts'
import { newEvent } from '../events/new-event.ts'
import type { Requester } from '../ports/events.ts'
import type { Identifier, NewIdentifier } from '../ports/identifiers.ts'
import type { FoundProspect, ProspectWant } from '../ports/prospects.ts'
import type { Needs } from '../ports/store.ts'
import { prospectOf } from './get-prospect.ts'
import { IDENTIFIER_KINDS, identifiersOf, type Matchable, wantedBy } from './identifiers.ts'
import { NO_IDENTIFIER } from './refuse-unidentified.ts'
import { findSurvivor } from './survivors.ts'

/** The prospect to correct, and its new values. */
export type ProspectCorrection = ProspectWant & ProspectChanges & Requester

/**
 * Corrects a prospect: the only use case that overwrites an email, an external id or a name; null clears it. The email
 * is normalized as when an activity is logged. An email or external id that is overwritten becomes a former one: it
 * identifies no one any more. For a merged prospect, its survivor is corrected.
 *
 * Refuses `prospect_not_found`, `prospect_erased`, `email_taken`, `external_id_taken`, and `invalid_request`: an email
 * or an external id that identifies no one.
 */
export const updateProspect =
  ({ store, clock, newId }: Needs<'prospects' | 'activities'>) =>
  async ({ tenantId, prospectId, apiKeyId, ...changes }: ProspectCorrection): Promise<Prospect> => {
    const matchable = identifiersOf(changes)
    for (const kind of IDENTIFIER_KINDS)
      if (changes[kind] != null && matchable[kind] === null) refuseMember(kind)
    const now = isoTime(clock())

    return untilRecorded(async () => {
      const before = await findSurvivor(store.prospects, { tenantId, prospectId })
      if (!before) return prospectNotFound()
      if (before.erasedAt !== null) return prospectErased()
      const after = corrected(before, changes, matchable, now)
      if (after === null) return prospectOf(before)
      const known = await store.activities.recall({
        tenantId,
        identifiers: wantedBy(tenantId, matchable),
      })
      for (const kind of IDENTIFIER_KINDS)
        for (const { prospectId: ownerId } of known.identifiers.filter((found) => found.kind === kind))
          if (ownerId !== before.prospectId) refuseTaken(kind, ownerId)

      const about = { prospectId: before.prospectId }
      const events = [newEvent(newId, 'prospect.updated', { tenantId, apiKeyId }, about, now)]
      const added = IDENTIFIER_KINDS.flatMap((kind) => identifierOf(after, kind, matchable))
      const released = IDENTIFIER_KINDS.flatMap((kind) =>
        before[kind] === after[kind] ? [] : identifierOf(before, kind, identifiersOf(before)),
      )
      const recorded = await store.prospects.correct({ before, after, added, released }, events)
      return recorded === 'recorded' ? prospectOf(after) : recorded
    })
  }

/** The prospect with its new values; null if none is given. */
const corrected = (
  before: FoundProspect,
  { email, externalId, name }: ProspectChanges,
  matchable: Matchable,
  now: string,
): FoundProspect | null => {
  if (email === undefined && externalId === undefined && name === undefined) return null
  return {
    ...before,
    email: email === undefined ? before.email : (matchable.email?.value ?? null),
    externalId: externalId === undefined ? before.externalId : (matchable.externalId?.value ?? null),
    name: name === undefined ? before.name : name?.trim() ? name : null,
    updatedAt: laterThan(before.updatedAt, now),
  }
}

/** The identifier of this kind that a prospect is shown with, if it is this one. */
const identifierOf = (
  prospect: FoundProspect,
  kind: Identifier['kind'],
  matchable: Matchable,
): NewIdentifier[] => {
  const identifier = matchable[kind]
  if (identifier === null || prospect[kind] === null) return []
  return [{ tenantId: prospect.tenantId, kind, ...identifier, prospectId: prospect.prospectId }]
}

const refuseTaken = (kind: Identifier['kind'], prospectId: string | null): never => {
  if (prospectId === null)
    return refuse('prospect_erased', 'The email or the external id is blocked after an erasure.')
  return kind === 'email'
    ? refuse('email_taken', 'Another prospect has this email.', { prospectId })
    : refuse('external_id_taken', 'Another prospect has this external id.', { prospectId })
}

const refuseMember = (member: Identifier['kind']): never =>
  refuse('invalid_request', 'This identifies no one.', {
    errors: [{ detail: NO_IDENTIFIER[member], pointer: `/${member}` }],
  })
