import type { Prospect, ProspectChanges } from '../../shapes/prospect.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import { isoTime, laterThan } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { Requester } from '../ports/events.ts'
import type { Identifier, NewIdentifier, StoredIdentifier } from '../ports/identifiers.ts'
import type { FoundProspect, ProspectCorrected, ProspectKey } from '../ports/prospects.ts'
import type { Needs } from '../ports/store.ts'
import type { Timestamp } from '../ports/world.ts'
import { livingProspect, prospectOf } from './get-prospect.ts'
import { IDENTIFIER_KINDS, identifiersOf, identifiersToLookUp, type Matchable } from './identifiers.ts'
import { isEmailPlaceholder } from './match-prospect.ts'
import { NO_IDENTIFIER } from './refuse-unidentified.ts'
import { findSurvivor } from './survivors.ts'

/** The prospect to correct, and its new values. */
export type ProspectCorrection = ProspectKey & ProspectChanges & Requester

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
  async ({ tenantId, prospectId, apiKeyId, ...changes }: ProspectCorrection): Promise<Result<Prospect>> => {
    const matchable = identifiersOf(changes)
    for (const kind of IDENTIFIER_KINDS)
      if (changes[kind] != null && matchable[kind] === null) refuseMember(kind)
    const newIdentifiers = identifiersToLookUp(tenantId, matchable)
    const now = isoTime(clock())

    return decideAndSave({
      recall: async () => {
        const before = await findSurvivor(store.prospects, { tenantId, prospectId })
        if (before?.erasedAt !== null || newIdentifiers.length === 0) return { before, identifiers: [] }
        const { identifiers } = await store.activities.recall({ tenantId, identifiers: newIdentifiers })
        return { before, identifiers }
      },
      decide: (known) => decide(changes, matchable, known, now),
      record: (correction) => {
        const about = { prospectId: correction.before.prospectId }
        const event = newEvent(newId, 'prospect.updated', { tenantId, apiKeyId }, about, now)
        return store.prospects.correct(correction, [event])
      },
    })
  }

type Known = {
  readonly before: FoundProspect | null
  /** Where the new email and external id lead. */
  readonly identifiers: readonly StoredIdentifier[]
}

const decide = (
  changes: ProspectChanges,
  matchable: Matchable,
  known: Known,
  now: Timestamp,
): { readonly answer: Result<Prospect>; readonly change: ProspectCorrected | null } => {
  const before = livingProspect(known.before)
  const after = corrected(before, changes, matchable, now)
  if (after === null) return { answer: { value: prospectOf(before) }, change: null }
  if (isEmailPlaceholder(known)) refuseMember('email')
  requireFreeIdentifiers(known.identifiers, before.prospectId)
  const added = IDENTIFIER_KINDS.flatMap((kind) => identifierOf(after, kind, matchable))
  const released = IDENTIFIER_KINDS.flatMap((kind) =>
    before[kind] === after[kind] ? [] : identifierOf(before, kind, identifiersOf(before)),
  )
  return { answer: { value: prospectOf(after) }, change: { before, after, added, released } }
}

/** Refuses `prospect_erased`, `email_taken` and `external_id_taken`; the email first. */
const requireFreeIdentifiers = (identifiers: readonly StoredIdentifier[], prospectId: string): void => {
  for (const kind of IDENTIFIER_KINDS) {
    const owners = identifiers.filter((identifier) => identifier.kind === kind)
    const other = owners.find((identifier) => identifier.prospectId !== prospectId)
    if (other !== undefined) refuseTaken(kind, other.prospectId)
  }
}

/** The prospect with its new values; null if none was sent. */
const corrected = (
  before: FoundProspect,
  { email, externalId, name }: ProspectChanges,
  matchable: Matchable,
  now: Timestamp,
): FoundProspect | null => {
  if (email === undefined && externalId === undefined && name === undefined) return null
  return {
    ...before,
    email: email === undefined ? before.email : (matchable.email?.value ?? null),
    externalId: externalId === undefined ? before.externalId : (matchable.externalId?.value ?? null),
    name: name === undefined ? before.name : nonBlank(name),
    updatedAt: laterThan(before.updatedAt, now),
  }
}

const nonBlank = (name: string | null): string | null => (name?.trim() ? name : null)

/** The identifier of this kind, if the prospect is shown with one. */
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
