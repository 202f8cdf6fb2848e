import { prospectErased } from '../engine/failures.ts'
import { keyOf } from '../engine/keys.ts'
import { laterThan } from '../engine/until-recorded.ts'
import type {
  Activities,
  ActivityWants,
  KnownActivities,
  ProspectChange,
  StoredProspect,
} from '../ports/activities.ts'
import type { AssumedIdentifier, Identifier, IdentifierKind, NewIdentifier } from '../ports/identifiers.ts'
import { IDENTIFIER_KINDS, type Matchable, wantedBy } from '../prospects/identifiers.ts'

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
    identifiers: [],
    keys: [],
    tenantIds: [],
  })
  return { ...known, prospects: [...known.prospects, ...survivors.prospects] }
}

type Fills = { email?: string; externalId?: string; name?: string }

const keyOfIdentifier = ({ tenantId, kind, hash }: Identifier): string => keyOf(tenantId, kind, hash)

/** The prospects that a list needs, as they will be once the list is saved. */
export const knownProspects = (known: Pick<KnownActivities, 'prospects' | 'identifiers'>, now: string) => {
  const byId = new Map<string, StoredProspect>()
  /** The prospect that each identifier leads to; null if it is blocked. */
  const leads = new Map<string, string | null>()
  const changes = new Map<string, ProspectChange>()
  const added: NewIdentifier[] = []

  const keep = (prospect: StoredProspect) => {
    byId.set(keyOf(prospect.tenantId, prospect.prospectId), prospect)
  }
  for (const prospect of known.prospects) keep(prospect)
  for (const identifier of known.identifiers) leads.set(keyOfIdentifier(identifier), identifier.prospectId)

  /** The survivor of a prospect, if it was merged; otherwise the prospect. */
  const survivor = (prospect: StoredProspect | undefined): StoredProspect | undefined =>
    prospect?.mergedInto ? survivor(byId.get(keyOf(prospect.tenantId, prospect.mergedInto))) : prospect

  /** The prospect that an identifier leads to, null if it is blocked, undefined if it leads to none. */
  const ownerOf = (tenantId: string, kind: IdentifierKind, { email, externalId }: Matchable) => {
    const identifier = kind === 'email' ? email : externalId
    if (identifier === null) return undefined
    const prospectId = leads.get(keyOf(tenantId, kind, identifier.hash))
    if (prospectId === undefined || prospectId === null) return prospectId
    return byId.get(keyOf(tenantId, prospectId))
  }

  /** The values that fill blanks of a prospect: the name, and identifiers that lead to none. */
  const fillsOf = (prospect: StoredProspect, matchable: Matchable, name: string | null): Fills => {
    const fills: Fills = prospect.name === null && name !== null ? { name } : {}
    for (const kind of IDENTIFIER_KINDS) {
      const identifier = matchable[kind]
      if (identifier === null || prospect[kind] !== null) continue
      if (ownerOf(prospect.tenantId, kind, matchable) === undefined) fills[kind] = identifier.value
    }
    return fills
  }
  /** Changes only what is filled: a value that is cleared meanwhile must not come back. */
  const put = (prospect: StoredProspect, fills: Fills, matchable: Matchable): StoredProspect => {
    const { tenantId, prospectId } = prospect
    const key = keyOf(tenantId, prospectId)
    const blank = { email: null, externalId: null, name: null }
    const before = changes.get(key)
    changes.set(key, {
      ...(before ?? { tenantId, prospectId, ...blank, createdAt: now, updatedAt: now }),
      ...fills,
    })
    for (const kind of IDENTIFIER_KINDS) {
      const identifier = matchable[kind]
      if (fills[kind] === undefined || identifier === null) continue
      added.push({ tenantId, kind, ...identifier, prospectId })
      leads.set(keyOf(tenantId, kind, identifier.hash), prospectId)
    }
    // A list changes a prospect once, and the store finds the same time.
    const updatedAt = before === undefined ? laterThan(prospect.updatedAt, now) : prospect.updatedAt
    const after = { ...prospect, ...fills, updatedAt }
    keep(after)
    return after
  }

  return {
    changes: () => ({ prospects: [...changes.values()], identifiers: added }),

    /**
     * The prospect with this id, else with this external id, else with this email, unless it has another external id.
     * Refuses `prospect_erased`: a blocked email or external id is refused for any prospect.
     */
    find: (tenantId: string, prospectId: string | undefined, matchable: Matchable) => {
      const ofEmail = ownerOf(tenantId, 'email', matchable)
      const ofExternalId = ownerOf(tenantId, 'externalId', matchable)
      if (ofEmail === null || ofExternalId === null) return prospectErased()
      const isOther = matchable.externalId !== null && (ofEmail?.externalId ?? null) !== null
      const named = ofExternalId ?? (isOther ? undefined : ofEmail)
      const found = prospectId === undefined ? named : survivor(byId.get(keyOf(tenantId, prospectId)))
      return found?.erasedAt ? prospectErased() : found
    },

    added: (tenantId: string, prospectId: string, matchable: Matchable, name: string | null) => {
      const blank = { email: null, externalId: null, name: null, erasedAt: null, mergedInto: null }
      const prospect = { tenantId, prospectId, ...blank, updatedAt: '' }
      return put(prospect, fillsOf(prospect, matchable, name), matchable)
    },

    /** The id of another prospect that the email leads to, so this one cannot have it; null if there is none. */
    emailTakenBy: ({ tenantId, prospectId }: StoredProspect, matchable: Matchable): string | null => {
      const owner = ownerOf(tenantId, 'email', matchable)
      return owner && owner.prospectId !== prospectId ? owner.prospectId : null
    },

    /** The prospect with its blanks filled. Nothing is overwritten, and identifiers of another prospect are ignored. */
    filled: (prospect: StoredProspect, matchable: Matchable, name: string | null) => {
      const fills = fillsOf(prospect, matchable, name)
      return Object.keys(fills).length === 0 ? prospect : put(prospect, fills, matchable)
    },

    /** Whether all of these identifiers lead to a prospect once the list is saved. */
    allLeadTo: ({ tenantId, prospectId }: StoredProspect, matchable: Matchable): boolean =>
      wantedBy(tenantId, matchable).every(
        (identifier) => leads.get(keyOfIdentifier(identifier)) === prospectId,
      ),
  }
}

/** These identifiers, each once, as they were recalled. */
export const assumedOf = (
  identifiers: readonly Identifier[],
  known: Pick<KnownActivities, 'identifiers'>,
): AssumedIdentifier[] => {
  const leads = new Map(known.identifiers.map((stored) => [keyOfIdentifier(stored), stored.prospectId]))
  const assumed = new Map<string, AssumedIdentifier>()
  for (const identifier of identifiers) {
    const key = keyOfIdentifier(identifier)
    assumed.set(key, { ...identifier, prospectId: leads.get(key) ?? null })
  }
  return [...assumed.values()]
}
