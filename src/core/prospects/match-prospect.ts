import type { RawJson } from '../../shapes/json.ts'
import type { IdentifierConflict } from '../../shapes/prospect.ts'
import { andThen } from '../engine/and-then.ts'
import { prospectErased } from '../engine/failures.ts'
import { laterThan } from '../engine/times.ts'
import type {
  Activities,
  ActivityChange,
  ActivityLookup,
  KnownActivity,
  StoredProspect,
} from '../ports/activities.ts'
import type { AssumedIdentifier, IdentifierKind, NewIdentifier } from '../ports/identifiers.ts'
import type { Store } from '../ports/store.ts'
import type { NewId, Timestamp } from '../ports/world.ts'
import { type GainedAttributes, gainedAttributes, type SentAttributes } from './attributes.ts'
import { IDENTIFIER_KINDS, type Matchable, type SentIdentifiers } from './identifiers.ts'

/** `recall` which also returns the survivor of a merged prospect. Rarely needs a second read. */
export const recallWithSurvivor = (
  activities: Pick<Activities, 'recall'>,
  lookup: ActivityLookup,
): Promise<KnownActivity> | KnownActivity => {
  const { tenantId, prospectId } = lookup
  const recalled = activities.recall(lookup)
  // An identifier never leads to a merged prospect.
  if (prospectId === undefined) return recalled
  return andThen(recalled, (known) => {
    const mergedInto = prospectWithId(known, prospectId)?.mergedInto
    if (!mergedInto) return known
    const survivor = recallWithSurvivor(activities, { tenantId, prospectId: mergedInto, identifiers: [] })
    return andThen(survivor, ({ prospects }) => ({
      ...known,
      prospects: known.prospects.concat(prospects),
    }))
  })
}

/** What is known, with the attributes of the prospects, by their ids, if the person has some. */
export type KnownPerson = KnownActivity & { readonly attributes?: ReadonlyMap<string, RawJson | null> }

/**
 * `recallWithSurvivor` which also reads attributes, if the person has some. They are read after the prospects: should one
 * change in between, the change that follows is overtaken.
 */
export const recallPerson = (
  { activities, prospects }: Partial<Pick<Store, 'prospects'>> & Pick<Store, 'activities'>,
  { lookup, attributes }: Person,
): Promise<KnownPerson> | KnownPerson => {
  const recalled = recallWithSurvivor(activities, lookup)
  if (attributes === null || prospects === undefined) return recalled
  return andThen(recalled, async (known) => {
    const ids = new Set(known.prospects.map(({ prospectId }) => prospectId))
    const read = Array.from(ids, async (prospectId) => {
      const found = await prospects.find({ tenantId: lookup.tenantId, prospectId })
      return [prospectId, found?.attributes ?? null] as const
    })
    return { ...known, attributes: new Map(await Promise.all(read)) }
  })
}

/** The attributes that a prospect, new or found, gains from a person. */
export const gainsOf = (
  { attributes }: Person,
  known: KnownPerson,
  found: StoredProspect | undefined,
): GainedAttributes =>
  gainedAttributes((found && known.attributes?.get(found.prospectId)) ?? null, attributes)

/**
 * A person and what is known, as the decision sees them: without an email that is a placeholder of its tenant.
 */
export const ignoringPlaceholderEmail = (person: Person, known: KnownActivity) => {
  if (!isEmailPlaceholder(known)) return { person, known }
  const identifiers = person.lookup.identifiers.filter(({ kind }) => kind !== 'email')
  return {
    person: {
      lookup: { ...person.lookup, identifiers },
      matchable: { ...person.matchable, email: null },
      name: person.name,
      attributes: person.attributes,
    },
    known: { ...known, identifiers: known.identifiers.filter(({ kind }) => kind !== 'email') },
  }
}

/** Whether the email that was looked up is a placeholder of its tenant. */
export const isEmailPlaceholder = ({ identifiers }: Pick<KnownActivity, 'identifiers'>): boolean =>
  identifiers.some(({ prospectId, blockedUntil }) => prospectId === null && blockedUntil === null)

/**
 * The prospect with this id, else with this external id, else with this email, unless it has another external id.
 * Refuses `prospect_erased`: a blocked email or external id is refused for any prospect.
 */
export const matchProspect = (
  known: KnownActivity,
  prospectId: string | undefined,
  matchable: Matchable,
): StoredProspect | undefined => {
  if (isBlocked(known, 'email') || isBlocked(known, 'externalId')) return prospectErased()
  const found =
    prospectId === undefined ? identifiedProspect(known, matchable) : survivorOf(known, prospectId)
  return found?.erasedAt ? prospectErased() : found
}

const identifiedProspect = (known: KnownActivity, matchable: Matchable): StoredProspect | undefined => {
  const ownerOfExternalId = ownerOf(known, 'externalId')
  if (ownerOfExternalId !== undefined) return ownerOfExternalId
  const ownerOfEmail = ownerOf(known, 'email')
  if (ownerOfEmail === undefined) return undefined
  const hasAnotherExternalId = matchable.externalId !== null && ownerOfEmail.externalId !== null
  return hasAnotherExternalId ? undefined : ownerOfEmail
}

/** The part of an `ActivityChange` that concerns the prospect. */
export type ProspectSaved = Pick<
  ActivityChange,
  'prospect' | 'attributes' | 'unchangedSince' | 'identifiers' | 'assumed'
>
/** The person that a request is about: identifiers, and a name and attributes for the prospect. */
export type Person = {
  readonly lookup: ActivityLookup
  readonly matchable: Matchable
  readonly name: string | null
  readonly attributes: SentAttributes | null
}

/** A new prospect, with the name, the attributes and the identifiers that lead to no prospect yet. */
export const addedProspect = (
  person: Person,
  known: KnownActivity,
  { attributes }: GainedAttributes,
  now: Timestamp,
  newId: NewId,
): ProspectSaved => {
  const { tenantId } = person.lookup
  const prospectId = newId('prospect')
  const identifiers = newIdentifiers({ tenantId, prospectId, email: null, externalId: null }, person, known)
  const prospect = {
    tenantId,
    prospectId,
    email: gainedValue(identifiers, 'email'),
    externalId: gainedValue(identifiers, 'externalId'),
    name: person.name,
    updatedAt: now,
    erasedAt: null,
    mergedInto: null,
  }
  const assumed = assumptions(prospectId, person, known)
  return { prospect, attributes, unchangedSince: null, identifiers, assumed }
}

/** The prospect with its blanks filled. Its name and identifiers stay, and identifiers of another prospect are ignored. */
export const filledProspect = (
  found: StoredProspect,
  person: Person,
  known: KnownActivity,
  { attributes }: GainedAttributes,
  now: Timestamp,
): ProspectSaved => {
  const identifiers = newIdentifiers(found, person, known)
  const assumed = assumptions(found.prospectId, person, known)
  const unchangedSince = found.updatedAt
  const name = found.name ?? person.name
  const isUnchanged = identifiers.length === 0 && name === found.name && attributes === null
  if (isUnchanged) return { prospect: found, attributes, unchangedSince, identifiers, assumed }
  const prospect = {
    tenantId: found.tenantId,
    prospectId: found.prospectId,
    email: found.email ?? gainedValue(identifiers, 'email'),
    externalId: found.externalId ?? gainedValue(identifiers, 'externalId'),
    name,
    updatedAt: laterThan(found.updatedAt, now),
    erasedAt: found.erasedAt,
    mergedInto: found.mergedInto,
  }
  return { prospect, attributes, unchangedSince, identifiers, assumed }
}

/** The identifiers that a prospect gains: those that it lacks and that lead to no prospect yet. */
const newIdentifiers = (
  prospect: Pick<StoredProspect, 'tenantId' | 'prospectId' | IdentifierKind>,
  { matchable }: Person,
  known: KnownActivity,
): NewIdentifier[] => {
  const { tenantId, prospectId } = prospect
  const identifiers: NewIdentifier[] = []
  for (const kind of IDENTIFIER_KINDS) {
    const identifier = matchable[kind]
    if (identifier !== null && prospect[kind] === null && leadsTo(known, kind) === null)
      identifiers.push({ tenantId, kind, hash: identifier.hash, value: identifier.value, prospectId })
  }
  return identifiers
}

const gainedValue = (identifiers: readonly NewIdentifier[], kind: IdentifierKind): string | null =>
  identifiers.find((identifier) => identifier.kind === kind)?.value ?? null

/** The identifiers that lead elsewhere than to this prospect, or to none. If that changes, the decision is overtaken. */
const assumptions = (prospectId: string, { lookup }: Person, known: KnownActivity): AssumedIdentifier[] => {
  const assumed: AssumedIdentifier[] = []
  for (const { tenantId, kind, hash, domain } of lookup.identifiers) {
    const leadsToId = leadsTo(known, kind)
    if (leadsToId !== prospectId) assumed.push({ tenantId, kind, hash, domain, prospectId: leadsToId })
  }
  return assumed
}

/**
 * The identifiers of a request that this prospect, as it is after the request, did not take. A blank text says nothing that
 * could be lost.
 */
export const conflictsOf = (
  sent: SentIdentifiers,
  { matchable }: Person,
  known: KnownActivity,
  prospect: StoredProspect,
): IdentifierConflict[] => {
  const conflicts: IdentifierConflict[] = []
  for (const field of IDENTIFIER_KINDS) {
    const identifier = matchable[field]
    const owner = leadsTo(known, field)
    if (!sent[field]?.trim() || owner === prospect.prospectId) continue
    if (identifier === null) conflicts.push({ field, reason: 'unusable' })
    else if (owner !== null) conflicts.push({ field, reason: 'taken', prospectId: owner })
    else if (prospect[field] !== identifier.value) conflicts.push({ field, reason: 'different' })
  }
  return conflicts
}

const identifierOf = ({ identifiers }: KnownActivity, kind: IdentifierKind) =>
  identifiers.find((identifier) => identifier.kind === kind)

/** Whether an erasure keeps this identifier from leading to a prospect. */
const isBlocked = (known: KnownActivity, kind: IdentifierKind): boolean =>
  identifierOf(known, kind)?.prospectId === null

/** The id of the prospect that an identifier leads to; null if it leads to no prospect. */
const leadsTo = (known: KnownActivity, kind: IdentifierKind): string | null =>
  identifierOf(known, kind)?.prospectId ?? null

/** The prospect that an identifier leads to, if it leads to one. */
const ownerOf = (known: KnownActivity, kind: IdentifierKind): StoredProspect | undefined => {
  const prospectId = leadsTo(known, kind)
  return prospectId === null ? undefined : prospectWithId(known, prospectId)
}

const prospectWithId = ({ prospects }: KnownActivity, prospectId: string): StoredProspect | undefined =>
  prospects.find((prospect) => prospect.prospectId === prospectId)

/** The prospect with this id; if it was merged, its survivor. */
const survivorOf = (known: KnownActivity, prospectId: string): StoredProspect | undefined => {
  const prospect = prospectWithId(known, prospectId)
  return prospect?.mergedInto ? survivorOf(known, prospect.mergedInto) : prospect
}
