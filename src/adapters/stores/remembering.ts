import type { Activities, ActivityChange, ActivityWant, KnownActivity } from '../../core/ports/activities.ts'

/**
 * Activities whose `recall` answers from memory if a change with the same want was recorded before, and all of its
 * identifiers lead to its prospect: then an activity is one write without a look-up. What is remembered may be wrong for
 * ever: the store checks that the prospect is unchanged, and returns `overtaken` if not; then it is forgotten.
 *
 * Half of the entries are those used since the last turn; at each turn the others are forgotten: the least recently used
 * go first.
 */
export const remembering = (activities: Activities, entriesMax: number): Activities => {
  if (entriesMax === 0) return activities
  const halfMax = Math.ceil(entriesMax / 2)
  let recent = entries()
  let older = entries()

  const keep = (want: ActivityWant, known: KnownActivity): void => {
    if (recent.size() >= halfMax) {
      older = recent
      recent = entries()
    }
    recent.set(want, known)
  }
  const find = (want: ActivityWant): KnownActivity | undefined => {
    const used = recent.get(want)
    if (used !== undefined) return used
    const known = older.get(want)
    if (known !== undefined) keep(want, known)
    return known
  }

  return {
    recall: (want) => {
      const known = find(want)
      return known === undefined ? activities.recall(want) : Promise.resolve(known)
    },

    record: async (change, events) => {
      const recorded = await activities.record(change, events)
      const { want, prospect } = change
      if (recorded === 'overtaken') {
        recent.delete(want)
        older.delete(want)
      } else if (prospect !== find(want)?.prospects[0] && isWhole(change)) keep(want, knownAfter(change))
      return recorded
    },
  }
}

/** Whether the want names the prospect, and all of its identifiers lead there from now on. */
const isWhole = ({ want, prospect, identifiers, assumed }: ActivityChange): boolean => {
  const isNamed =
    want.prospectId === undefined ? want.identifiers.length > 0 : want.prospectId === prospect.prospectId
  return isNamed && assumed.length === identifiers.length
}

/** What a look-up finds after this change. An idempotency key, and what is counted, only the store knows. */
const knownAfter = ({ want, prospect }: ActivityChange): KnownActivity => ({
  prospects: [prospect],
  identifiers: want.identifiers.map((identifier) => ({
    ...identifier,
    prospectId: prospect.prospectId,
    blockedUntil: null,
    erasureId: null,
  })),
  receipt: null,
  countedId: null,
})

/** A map for each tenant, because a hash alone is a cheaper key than a text that combines it with its tenant. */
const entries = () => {
  const ofTenants = new Map<string, Map<string, KnownActivity>>()
  let size = 0
  return {
    size: () => size,
    get: (want: ActivityWant) => ofTenants.get(want.tenantId)?.get(keyOf(want)),
    set: (want: ActivityWant, known: KnownActivity): void => {
      const ofTenant = ofTenants.get(want.tenantId) ?? new Map<string, KnownActivity>()
      if (ofTenant.size === 0) ofTenants.set(want.tenantId, ofTenant)
      size -= ofTenant.size
      ofTenant.set(keyOf(want), known)
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
