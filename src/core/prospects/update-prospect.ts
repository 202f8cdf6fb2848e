import type { Prospect, ProspectChanges } from '../../shapes/prospect.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import { refuse } from '../engine/failures.ts'
import { sha256 } from '../engine/keys.ts'
import type { Result } from '../engine/result.ts'
import { isoTime, laterThan } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { Requester } from '../ports/events.ts'
import type { IdentifierKind, NewIdentifier, StoredIdentifier } from '../ports/identifiers.ts'
import {
  type FoundProspect,
  LEADING_LISTED_MAX,
  type ProspectCorrected,
  type ProspectIdentifier,
  type ProspectKey,
} from '../ports/prospects.ts'
import type { Needs } from '../ports/store.ts'
import type { Timestamp } from '../ports/world.ts'
import { correctedAttributes } from './attributes.ts'
import { livingProspect, prospectOf } from './get-prospect.ts'
import { IDENTIFIER_KINDS, identifiersOf, identifiersToLookUp, type Matchable } from './identifiers.ts'
import { isEmailPlaceholder } from './match-prospect.ts'
import { NO_IDENTIFIER } from './refuse-unidentified.ts'
import { findSurvivor } from './survivors.ts'

/** The prospect to correct, and its new values. */
export type ProspectCorrection = ProspectKey & ProspectChanges & Requester

/**
 * Corrects a prospect: the only use case that overwrites an email, an external id or a name; null clears it, and removes an
 * attribute. The email
 * is normalized as when an activity is logged. For a merged prospect, its survivor is corrected.
 *
 * An email or external id that is overwritten becomes a former one, which identifies no one any more, though an erasure
 * blocks it. The person may still use it: `keepFormerEmail` lets it lead here, as before. Or it may never have been this
 * person's: `forgetEmail` drops it, so that an erasure leaves it alone.
 *
 * Refuses `prospect_not_found`, `prospect_erased`, `email_taken`, `external_id_taken`, `limit_reached`, and
 * `invalid_request`: an email or an external id that identifies no one, or members that contradict each other.
 */
export const updateProspect =
  ({ store, clock, newId }: Needs<'prospects' | 'activities'>) =>
  async ({ tenantId, prospectId, apiKeyId, ...changes }: ProspectCorrection): Promise<Result<Prospect>> => {
    const matchable = identifiersOf(changes)
    for (const kind of IDENTIFIER_KINDS)
      if (changes[kind] != null && matchable[kind] === null) refuseUnidentifying(kind, kind)
    const unwanted = identifiersOf({ email: changes.forgetEmail, externalId: changes.forgetExternalId })
    const plan = { changes, matchable, unwanted }
    refuseContradictions(plan)
    const newIdentifiers = identifiersToLookUp(tenantId, matchable)
    const keepsAny = IDENTIFIER_KINDS.some((kind) => changes[KEEP[kind]])
    const now = isoTime(clock())

    return decideAndSave({
      recall: async () => {
        const before = await findSurvivor(store.prospects, { tenantId, prospectId })
        if (before?.erasedAt !== null) return { before, identifiers: [], current: [] }
        const current = keepsAny ? await store.prospects.identifiers(before) : []
        if (newIdentifiers.length === 0) return { before, identifiers: [], current }
        const { identifiers } = await store.activities.recall({ tenantId, identifiers: newIdentifiers })
        return { before, identifiers, current }
      },
      decide: (known) => decide(plan, known, now),
      record: (correction) => {
        const about = { prospectId: correction.before.prospectId }
        const event = newEvent(newId, {
          type: 'prospect.updated',
          sender: { tenantId, apiKeyId },
          ids: about,
          createdAt: now,
        })
        return store.prospects.correct(correction, [event])
      },
    })
  }

const KEEP = { email: 'keepFormerEmail', externalId: 'keepFormerExternalId' } as const
const FORGET = { email: 'forgetEmail', externalId: 'forgetExternalId' } as const

/** The request, with its identifiers normalized. */
type Plan = {
  readonly changes: ProspectChanges
  /** The new email and external id. */
  readonly matchable: Matchable
  /** Those to forget. */
  readonly unwanted: Matchable
}
type Known = {
  readonly before: FoundProspect | null
  /** Where the new email and external id lead. */
  readonly identifiers: readonly StoredIdentifier[]
  /** The identifiers that lead to the prospect, if one is to be kept. */
  readonly current: readonly ProspectIdentifier[]
}

/** Refuses what contradicts itself, whatever the prospect has. */
const refuseContradictions = ({ changes, matchable, unwanted }: Plan): void => {
  for (const kind of IDENTIFIER_KINDS) {
    if (changes[KEEP[kind]] && changes[kind] == null)
      refuseContradiction(KEEP[kind], `is only for a new ${NAMES[kind]}`)
    if (changes[FORGET[kind]] === undefined) continue
    if (unwanted[kind] === null) refuseUnidentifying(kind, FORGET[kind])
    if (changes[KEEP[kind]]) refuseContradiction(FORGET[kind], `must not be given with ${KEEP[kind]}`)
    if (unwanted[kind]?.hash === matchable[kind]?.hash) refuseForgettingShown(kind)
  }
}

const decide = (
  plan: Plan,
  known: Known,
  now: Timestamp,
): { readonly answer: Result<Prospect>; readonly change: ProspectCorrected | null } => {
  const { changes, matchable, unwanted } = plan
  const before = livingProspect(known.before)
  const after = corrected(before, plan, now)
  if (after === null) return { answer: { value: prospectOf(before) }, change: null }
  if (isEmailPlaceholder(known)) refuseUnidentifying('email', 'email')
  requireFreeIdentifiers(known.identifiers, before.prospectId)
  const added: NewIdentifier[] = []
  const released: NewIdentifier[] = []
  const forgotten: NewIdentifier[] = []
  for (const kind of IDENTIFIER_KINDS) {
    const ofProspect = { tenantId: before.tenantId, prospectId: before.prospectId, kind }
    const next = matchable[kind]
    if (next !== null) added.push({ ...ofProspect, ...next })
    const dropped = unwanted[kind]
    if (dropped !== null && dropped.value === after[kind]) refuseForgettingShown(kind)
    if (dropped !== null) forgotten.push({ ...ofProspect, ...dropped })
    const value = before[kind]
    if (value === null || value === after[kind] || value === dropped?.value) continue
    if (changes[KEEP[kind]]) requireRoom(known.current, kind)
    // Its text is normalized already. It need not identify anyone by the rules of today.
    else released.push({ ...ofProspect, value, hash: sha256(value) })
  }
  return { answer: { value: prospectOf(after) }, change: { before, after, added, released, forgotten } }
}

/** Refuses `prospect_erased`, `email_taken` and `external_id_taken`; the email first. */
const requireFreeIdentifiers = (identifiers: readonly StoredIdentifier[], prospectId: string): void => {
  for (const kind of IDENTIFIER_KINDS) {
    const owners = identifiers.filter((identifier) => identifier.kind === kind)
    const other = owners.find((identifier) => identifier.prospectId !== prospectId)
    if (other !== undefined) refuseTaken(kind, other.prospectId)
  }
}

/** Refuses `limit_reached`: an erasure blocks all identifiers of a person by one statement. */
const requireRoom = (current: readonly ProspectIdentifier[], kind: IdentifierKind): void => {
  const leading = current.filter((identifier) => identifier.kind === kind && !identifier.isFormer)
  if (leading.length >= LEADING_LISTED_MAX)
    refuse('limit_reached', `At most ${LEADING_LISTED_MAX} ${NAMES[kind]}s can lead to one prospect.`)
}

/** The prospect with its new values; null if nothing is to be changed. */
const corrected = (
  before: FoundProspect,
  { changes, matchable, unwanted }: Plan,
  now: Timestamp,
): FoundProspect | null => {
  const { email, externalId, name } = changes
  const attributes = correctedAttributes(before.attributes, changes.attributes)
  const isForgetting = IDENTIFIER_KINDS.some((kind) => unwanted[kind] !== null)
  if (email === undefined && externalId === undefined && name === undefined && !isForgetting)
    if (attributes === before.attributes) return null
  return {
    ...before,
    email: email === undefined ? before.email : (matchable.email?.value ?? null),
    externalId: externalId === undefined ? before.externalId : (matchable.externalId?.value ?? null),
    name: name === undefined ? before.name : nonBlank(name),
    attributes,
    updatedAt: laterThan(before.updatedAt, now),
  }
}

const nonBlank = (name: string | null): string | null => (name?.trim() ? name : null)

const NAMES = { email: 'email', externalId: 'external id' } as const

const refuseTaken = (kind: IdentifierKind, prospectId: string | null): never => {
  if (prospectId === null)
    return refuse('prospect_erased', 'The email or the external id is blocked after an erasure.')
  return kind === 'email'
    ? refuse('email_taken', 'Another prospect has this email.', { prospectId })
    : refuse('external_id_taken', 'Another prospect has this external id.', { prospectId })
}

const refuseForgettingShown = (kind: IdentifierKind): never =>
  refuseContradiction(FORGET[kind], `is the ${NAMES[kind]} of the prospect: replace it by ${kind}`)

const refuseContradiction = (member: keyof ProspectChanges, detail: string): never =>
  refuse('invalid_request', 'The changes contradict each other.', {
    errors: [{ detail, pointer: `/${member}` }],
  })

const refuseUnidentifying = (kind: IdentifierKind, member: keyof ProspectChanges): never =>
  refuse('invalid_request', 'This identifies no one.', {
    errors: [{ detail: NO_IDENTIFIER[kind], pointer: `/${member}` }],
  })
