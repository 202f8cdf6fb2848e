import { prospectErased } from '../engine/failures.ts'
import { keyOf } from '../engine/keys.ts'
import type {
  Activities,
  ActivityWants,
  KnownActivities,
  ProspectChange,
  StoredProspect,
} from '../ports/activities.ts'
import type { ProspectWant } from '../ports/prospects.ts'
import { type Identifiers, type Matchable, NO_IDENTIFIERS } from '../prospects/identifiers.ts'

/** `recall` which also returns the survivors of merged prospects. Rarely needs a second read. */
export const recallWithSurvivors = async (
  activities: Pick<Activities, 'recall'>,
  wants: ActivityWants,
): Promise<KnownActivities> => {
  const known = await activities.recall(wants)
  const prospects = known.prospects.flatMap(({ tenantId, mergedInto }) =>
    mergedInto === null ? [] : [{ tenantId, prospectId: mergedInto }],
  )
  if (prospects.length === 0) return known
  const survivors = await recallWithSurvivors(activities, {
    prospects,
    emails: [],
    externalIds: [],
    keys: [],
  })
  return { ...known, prospects: [...known.prospects, ...survivors.prospects] }
}

/** The prospects that a list needs, as they will be once the list is saved. */
export const knownProspects = (stored: readonly StoredProspect[], now: string) => {
  const byId = new Map<string, StoredProspect>()
  const byEmail = new Map<string, StoredProspect>()
  const byExternalId = new Map<string, StoredProspect>()
  const changes = new Map<string, ProspectChange>()

  const remember = (prospect: StoredProspect) => {
    const { tenantId, prospectId, emailHash, externalIdHash } = prospect
    byId.set(keyOf(tenantId, prospectId), prospect)
    if (emailHash !== null) byEmail.set(keyOf(tenantId, emailHash), prospect)
    if (externalIdHash !== null) byExternalId.set(keyOf(tenantId, externalIdHash), prospect)
  }
  for (const prospect of stored) remember(prospect)

  /** The survivor of a prospect, if it was merged; otherwise the prospect. */
  const survivor = (prospect: StoredProspect | undefined): StoredProspect | undefined =>
    prospect?.mergedInto ? survivor(byId.get(keyOf(prospect.tenantId, prospect.mergedInto))) : prospect

  const ownerIn = (owners: ReadonlyMap<string, StoredProspect>, tenantId: string, hash: string | null) =>
    hash === null ? undefined : survivor(owners.get(keyOf(tenantId, hash)))
  const ownersOf = (tenantId: string, { emailHash, formerEmailHash, externalIdHash }: Matchable) => {
    const former = ownerIn(byEmail, tenantId, formerEmailHash)
    // A block wins, whichever hash it has.
    const ofEmail = former?.erasedAt ? former : (ownerIn(byEmail, tenantId, emailHash) ?? former)
    return { ofEmail, ofExternalId: ownerIn(byExternalId, tenantId, externalIdHash) }
  }

  /** Identifiers that the prospect lacks and no one else owns. */
  const freeFor = (prospect: StoredProspect, given: Matchable): Partial<Identifiers> => {
    const { ofEmail, ofExternalId } = ownersOf(prospect.tenantId, given)
    const { email, emailHash, externalId, externalIdHash } = given
    const takesEmail = prospect.emailHash === null && emailHash !== null && !ofEmail
    const takesExternalId = prospect.externalIdHash === null && externalIdHash !== null && !ofExternalId
    return { ...(takesEmail && { email, emailHash }), ...(takesExternalId && { externalId, externalIdHash }) }
  }

  /** Records a changed prospect. Only `taken` changes its identifiers. */
  const put = (prospect: StoredProspect, taken: Partial<Identifiers>): StoredProspect => {
    const { tenantId, prospectId, name, emailHash, externalIdHash } = prospect
    const key = keyOf(tenantId, prospectId)
    const before = changes.get(key) ?? { ...NO_IDENTIFIERS, createdAt: now, updatedAt: now }
    changes.set(key, { ...before, ...taken, tenantId, prospectId, name })
    const after = {
      ...prospect,
      emailHash: taken.emailHash ?? emailHash,
      externalIdHash: taken.externalIdHash ?? externalIdHash,
    }
    remember(after)
    return after
  }

  return {
    changes: () => [...changes.values()],

    /**
     * The prospect with this id, else with this external id, else with this email, unless it has another external id.
     * Refuses `prospect_erased`: a blocked email or external id is refused for any prospect.
     */
    find: (tenantId: string, prospectId: string | undefined, given: Matchable) => {
      const { ofEmail, ofExternalId } = ownersOf(tenantId, given)
      const isOther = given.externalIdHash !== null && (ofEmail?.externalIdHash ?? null) !== null
      const named = ofExternalId ?? (isOther ? undefined : ofEmail)
      const found = prospectId === undefined ? named : survivor(byId.get(keyOf(tenantId, prospectId)))
      if (found?.erasedAt || ofEmail?.erasedAt || ofExternalId?.erasedAt) prospectErased()
      return found
    },

    added: (tenantId: string, prospectId: string, given: Matchable, name: string | null) => {
      const blank = { emailHash: null, externalIdHash: null, erasedAt: null, mergedInto: null }
      const prospect = { tenantId, prospectId, name, ...blank }
      return put(prospect, freeFor(prospect, given))
    },

    /** The id of another prospect that owns the given email, so this one cannot have it; null if none does. */
    emailTakenBy: ({ tenantId, prospectId }: ProspectWant, given: Matchable): string | null => {
      const { ofEmail } = ownersOf(tenantId, given)
      return ofEmail && ofEmail.prospectId !== prospectId ? ofEmail.prospectId : null
    },

    /** The prospect with its blanks filled. Nothing is overwritten, and identifiers of another prospect are ignored. */
    filled: (prospect: StoredProspect, given: Matchable, name: string | null) => {
      const taken = freeFor(prospect, given)
      const isFilled = Object.keys(taken).length === 0 && (prospect.name !== null || name === null)
      return isFilled ? prospect : put({ ...prospect, name: prospect.name ?? name }, taken)
    },
  }
}
