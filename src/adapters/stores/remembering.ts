import type {
  Activities,
  ActivityChange,
  ActivityWant,
  KnownActivity,
  StoredProspect,
} from '../../core/ports/activities.ts'

/**
 * Activities whose `recall` answers from memory if a change with the same want was recorded before, and all of its
 * identifiers lead to its prospect: then an activity is one write without a look-up. A remembered prospect may be stale.
 * The store checks that it is unchanged, and returns `overtaken` if it is not; then it is forgotten.
 *
 * Once half of the entries allowed were used since the last change of halves, the entries that were not used since then
 * are forgotten: so the least recently used go first.
 */
export const remembering = (activities: Activities, entriesMax: number): Activities => {
  if (entriesMax === 0) return activities
  const halfMax = Math.ceil(entriesMax / 2)
  let recent = createEntries()
  let older = createEntries()

  const keep = (want: ActivityWant, prospect: StoredProspect): void => {
    if (recent.size() >= halfMax) {
      older = recent
      recent = createEntries()
    }
    recent.set(want, prospect)
  }
  const find = (want: ActivityWant): StoredProspect | undefined => {
    const used = recent.get(want)
    if (used !== undefined) return used
    const prospect = older.get(want)
    if (prospect !== undefined) keep(want, prospect)
    return prospect
  }

  return {
    recall: (want) => {
      const prospect = find(want)
      return prospect === undefined ? activities.recall(want) : Promise.resolve(knownFrom(prospect, want))
    },

    record: async (change, events) => {
      const recorded = await activities.record(change, events)
      const { want, prospect } = change
      if (recorded === 'overtaken') {
        recent.delete(want)
        older.delete(want)
      } else if (prospect !== find(want) && allLeadToProspect(change)) keep(want, prospect)
      return recorded
    },
  }
}

/**
 * Whether the want names the prospect, and all of its identifiers lead there from now on: those that did not are the ones
 * that were added.
 */
const allLeadToProspect = ({ want, prospect, identifiers, assumed }: ActivityChange): boolean => {
  const isNamed =
    want.prospectId === undefined ? want.identifiers.length > 0 : want.prospectId === prospect.prospectId
  return isNamed && assumed.length === identifiers.length
}

/** What a look-up finds if all identifiers lead to this prospect. A receipt, and what is counted, only the store knows. */
const knownFrom = (prospect: StoredProspect, want: ActivityWant): KnownActivity => ({
  prospects: [prospect],
  identifiers: want.identifiers.map(({ tenantId, kind, hash }) => {
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
    get: (want: ActivityWant) => ofTenants.get(want.tenantId)?.get(keyOf(want)),
    set: (want: ActivityWant, prospect: StoredProspect): void => {
      const ofTenant = ofTenants.get(want.tenantId) ?? new Map<string, StoredProspect>()
      if (ofTenant.size === 0) ofTenants.set(want.tenantId, ofTenant)
      size -= ofTenant.size
      ofTenant.set(keyOf(want), prospect)
      size += ofTenant.size
    },
    delete: (want: ActivityWant): void => {
      if (ofTenants.get(want.tenantId)?.delete(keyOf(want))) size--
    },
  }
}

/** Different for any two wants that name different people. The hash of an email alone stands for that email. */
const keyOf = ({ prospectId, identifiers }: ActivityWant): string => {
  const [first, second] = identifiers
  const isEmail = prospectId === undefined && first?.kind === 'email' && second === undefined
  if (isEmail) return first.hash
  return [prospectId, ...identifiers.map(({ kind, hash }) => `${kind} ${hash}`)].join(' ')
}
