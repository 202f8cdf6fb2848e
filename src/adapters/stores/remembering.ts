import { andThen } from '../../core/engine/and-then.ts'
import type {
  Activities,
  ActivityChange,
  ActivityLookup,
  KnownActivity,
  StoredProspect,
} from '../../core/ports/activities.ts'
import type { Recorded } from '../../core/ports/world.ts'

/**
 * Activities whose `recall` answers from memory if a change with the same lookup was recorded before, and all of its
 * identifiers lead to its prospect: then an activity is one write without a look-up. A remembered prospect may be stale.
 * The store checks that it is unchanged, and returns `overtaken` if it is not; then it is forgotten.
 *
 * A look-up that is not remembered is assumed to find no one, once many in a row have found no one, as in an import: then a
 * new person is one write, too. The store checks that as well.
 *
 * Once half of the entries allowed were used since the last change of halves, the entries that were not used since then
 * are forgotten: so the least recently used go first.
 */
export const remembering = (activities: Activities, entriesMax: number): Activities => {
  if (entriesMax === 0) return activities
  const halfMax = Math.ceil(entriesMax / 2)
  let recent = createEntries()
  let older = createEntries()
  let foundNoOneInARow = 0

  const keep = (lookup: ActivityLookup, prospect: StoredProspect): void => {
    if (recent.size() >= halfMax) {
      older = recent
      recent = createEntries()
    }
    recent.set(lookup, prospect)
  }
  const find = (lookup: ActivityLookup): StoredProspect | undefined => {
    const used = recent.get(lookup)
    if (used !== undefined) return used
    const prospect = older.get(lookup)
    if (prospect !== undefined) keep(lookup, prospect)
    return prospect
  }

  const note = (change: ActivityChange, outcome: Recorded | Error | undefined): void => {
    const { lookup, prospect } = change
    if (outcome === 'overtaken') {
      recent.delete(lookup)
      older.delete(lookup)
      foundNoOneInARow = 0
    } else if (outcome === 'recorded' && prospect !== find(lookup) && allLeadToProspect(change)) {
      keep(lookup, prospect)
    }
  }

  return {
    recall: (lookup) => {
      if (!isWhollyChecked(lookup)) return activities.recall(lookup)
      const prospect = find(lookup)
      if (prospect !== undefined) return knownFrom(prospect, lookup)
      if (!isByIdentifiers(lookup)) return activities.recall(lookup)
      if (foundNoOneInARow >= FOUND_NO_ONE_MIN) return NO_ONE
      return andThen(activities.recall(lookup), (known) => {
        foundNoOneInARow = isNoOne(known) ? foundNoOneInARow + 1 : 0
        return known
      })
    },

    record: async (change, events) => {
      const recorded = await activities.record(change, events)
      note(change, recorded)
      return recorded
    },

    ...(activities.recordEach && {
      recordEach: async (recordings) => {
        const outcomes = (await activities.recordEach?.(recordings)) ?? []
        for (const [i, { change }] of recordings.entries()) note(change, outcomes[i])
        return outcomes
      },
    }),
  }
}

/** A wrong assumption costs a write in vain. So many strangers in a row are rare where people are mostly known. */
const FOUND_NO_ONE_MIN = 16
const NO_ONE: KnownActivity = { prospects: [], identifiers: [], receipt: null, countedId: null }
/** An id of a prospect was given out, so it is the id of someone; and a look-up that names no one finds no one. */
const isByIdentifiers = ({ prospectId, identifiers }: ActivityLookup): boolean =>
  prospectId === undefined && identifiers.length > 0
const isNoOne = ({ identifiers, receipt }: KnownActivity): boolean =>
  identifiers.length === 0 && receipt === null

/**
 * Whether the store, when it saves a log, sees that its key is taken. It sees only the scope of the log, so a key that can be
 * taken over is always looked up.
 */
const isWhollyChecked = ({ key }: ActivityLookup): boolean => key?.keyScope === key?.lastKeyScope

/**
 * Whether the look-up names the prospect, and all of its identifiers lead there from now on: those that did not are the ones
 * that were added.
 */
const allLeadToProspect = ({ lookup, prospect, identifiers, assumed }: ActivityChange): boolean => {
  const isNamed =
    lookup.prospectId === undefined
      ? lookup.identifiers.length > 0
      : lookup.prospectId === prospect.prospectId
  return isNamed && assumed.length === identifiers.length
}

/** What a look-up finds if all identifiers lead to this prospect. A receipt, and what is counted, only the store knows. */
const knownFrom = (prospect: StoredProspect, lookup: ActivityLookup): KnownActivity => ({
  prospects: [prospect],
  identifiers: lookup.identifiers.map(({ tenantId, kind, hash }) => {
    const { prospectId } = prospect
    return { tenantId, kind, hash, prospectId, blockedUntil: null, erasureId: null }
  }),
  receipt: null,
  countedId: null,
})

/** A map for each tenant, because a hash alone is a cheaper key than a text that combines it with its tenant. */
const createEntries = () => {
  const ofTenants = new Map<string, Map<string, StoredProspect>>()
  let size = 0
  return {
    size: () => size,
    get: (lookup: ActivityLookup) => ofTenants.get(lookup.tenantId)?.get(keyOf(lookup)),
    set: (lookup: ActivityLookup, prospect: StoredProspect): void => {
      const ofTenant = ofTenants.get(lookup.tenantId) ?? new Map<string, StoredProspect>()
      if (ofTenant.size === 0) ofTenants.set(lookup.tenantId, ofTenant)
      size -= ofTenant.size
      ofTenant.set(keyOf(lookup), prospect)
      size += ofTenant.size
    },
    delete: (lookup: ActivityLookup): void => {
      if (ofTenants.get(lookup.tenantId)?.delete(keyOf(lookup))) size--
    },
  }
}

/** Different for any two lookups that name different people. The hash of an email alone stands for that email. */
const keyOf = ({ prospectId, identifiers }: ActivityLookup): string => {
  const [first, second] = identifiers
  const isEmail = prospectId === undefined && first?.kind === 'email' && second === undefined
  if (isEmail) return first.hash
  return [prospectId, ...identifiers.map(({ kind, hash }) => `${kind} ${hash}`)].join(' ')
}
