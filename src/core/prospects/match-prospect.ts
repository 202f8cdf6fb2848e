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
import type { ProspectKey } from '../ports/prospects.ts'
import type { NewId, Timestamp } from '../ports/world.ts'
import type { Matchable } from './identifiers.ts'

/** `recall` which also returns the survivor of a merged prospect. Rarely needs a second read. */
export const recallWithSurvivor = (
  activities: Pick<Activities, 'recall'>,
  lookup: ActivityLookup,
): Promise<KnownActivity> => {
  const { tenantId, prospectId } = lookup
  // An identifier never leads to a merged prospect.
  return prospectId === undefined
    ? activities.recall(lookup)
    : addSurvivor(activities, { tenantId, prospectId }, activities.recall(lookup))
}

const addSurvivor = async (
  activities: Pick<Activities, 'recall'>,
  { tenantId, prospectId }: ProspectKey,
  recalled: Promise<KnownActivity>,
): Promise<KnownActivity> => {
  const known = await recalled
  const mergedInto = known.prospects.find(isNamed(prospectId))?.mergedInto
  if (!mergedInto) return known
  const survivor = await recallWithSurvivor(activities, { tenantId, prospectId: mergedInto, identifiers: [] })
  return { ...known, prospects: [...known.prospects, ...survivor.prospects] }
}

/**
 * The prospect with this id, else with this external id, else with this email, unless it has another external id.
 * Refuses `prospect_erased`: a blocked email or external id is refused for any prospect.
 */
export const matchProspect = (
  known: KnownActivity,
  prospectId: string | undefined,
  matchable: Matchable,
): StoredProspect | undefined => {
  const ofEmail = ownerOf(known, 'email')
  const ofExternalId = ownerOf(known, 'externalId')
  if (ofEmail === null || ofExternalId === null) return prospectErased()
  const ownerHasAnotherExternalId = matchable.externalId !== null && (ofEmail?.externalId ?? null) !== null
  const identified = ofExternalId ?? (ownerHasAnotherExternalId ? undefined : ofEmail)
  const found = prospectId === undefined ? identified : survivor(known, prospectId)
  return found?.erasedAt ? prospectErased() : found
}

/** The part of an `ActivityChange` that concerns the prospect. */
export type ProspectSaved = Pick<ActivityChange, 'prospect' | 'unchangedSince' | 'identifiers' | 'assumed'>
/** The person that a request is about: identifiers, and a name for the prospect. */
export type Person = {
  readonly lookup: ActivityLookup
  readonly matchable: Matchable
  readonly name: string | null
}

/** A new prospect, with the name and the identifiers that lead to no one yet. */
export const addedProspect = (
  person: Person,
  known: KnownActivity,
  now: Timestamp,
  newId: NewId,
): ProspectSaved => {
  const { tenantId } = person.lookup
  const prospectId = newId('prospect')
  const blank = { email: null, externalId: null, name: null, erasedAt: null, mergedInto: null }
  const { fills, ...saved } = fillsOf({ tenantId, prospectId, ...blank, updatedAt: now }, person, known)
  return { ...saved, prospect: { ...saved.prospect, ...fills }, unchangedSince: null }
}

/** The prospect with its blanks filled. Nothing is overwritten, and identifiers of another prospect are ignored. */
export const filledProspect = (
  found: StoredProspect,
  person: Person,
  known: KnownActivity,
  now: Timestamp,
): ProspectSaved => {
  const { fills, ...saved } = fillsOf(found, person, known)
  if (fills === null) return saved
  return { ...saved, prospect: { ...found, ...fills, updatedAt: laterThan(found.updatedAt, now) } }
}

/** `fills` are the blanks that a request fills; null if it fills none. */
const fillsOf = (
  prospect: StoredProspect,
  { lookup, matchable, name }: Person,
  known: KnownActivity,
): ProspectSaved & { readonly fills: Partial<StoredProspect> | null } => {
  const { tenantId, prospectId } = prospect
  const identifiers: NewIdentifier[] = []
  const assumed: AssumedIdentifier[] = []
  for (const { kind, hash } of lookup.identifiers) {
    const leadsToId = leadsTo(known, kind)
    if (leadsToId === prospectId) continue
    assumed.push({ tenantId, kind, hash, prospectId: leadsToId })
    const identifier = matchable[kind]
    if (identifier !== null && prospect[kind] === null && leadsToId === null)
      identifiers.push({ tenantId, kind, ...identifier, prospectId })
  }
  const fillsName = prospect.name === null && name !== null
  if (identifiers.length === 0 && !fillsName)
    return { prospect, unchangedSince: prospect.updatedAt, fills: null, identifiers, assumed }
  const fills: Partial<Record<IdentifierKind | 'name', string>> = {}
  for (const { kind, value } of identifiers) fills[kind] = value
  if (fillsName) fills.name = name
  return { prospect, unchangedSince: prospect.updatedAt, fills, identifiers, assumed }
}

/** The id of another prospect that the email leads to, so this one cannot have it; null if there is none. */
export const emailTakenBy = (known: KnownActivity, { prospectId }: StoredProspect): string | null => {
  const owner = leadsTo(known, 'email')
  return owner === prospectId ? null : owner
}

const isNamed =
  (prospectId: string) =>
  (prospect: StoredProspect): boolean =>
    prospect.prospectId === prospectId

/** The id of the prospect that an identifier leads to; null if it leads to none. */
const leadsTo = ({ identifiers }: KnownActivity, kind: IdentifierKind): string | null =>
  identifiers.find((identifier) => identifier.kind === kind)?.prospectId ?? null

/** The prospect that an identifier leads to, null if it is blocked, undefined if it leads to none. */
const ownerOf = (known: KnownActivity, kind: IdentifierKind): StoredProspect | null | undefined => {
  const identifier = known.identifiers.find((found) => found.kind === kind)
  if (identifier === undefined) return undefined
  return identifier.prospectId === null ? null : known.prospects.find(isNamed(identifier.prospectId))
}

/** The prospect with this id; if it was merged, its survivor. */
const survivor = (known: KnownActivity, prospectId: string): StoredProspect | undefined => {
  const prospect = known.prospects.find(isNamed(prospectId))
  return prospect?.mergedInto ? survivor(known, prospect.mergedInto) : prospect
}
