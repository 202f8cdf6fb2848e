import type { StoredProspect } from '../ports/activities.ts'
import { type LocatedActivity, type NewActivity, nameIn, type RememberedProspect } from './new-log.ts'

/** A longer text would let callers fill the memory. */
const EMAIL_LENGTH_MAX = 255

/** The identifiers by which an activity names its prospect. */
type Identity = Pick<NewActivity, 'tenantId' | 'prospectId' | 'externalId' | 'email'>
export type RememberedProspects = ReturnType<typeof rememberProspects>

/**
 * Remembers which prospect an id, an external id, an email exactly as sent, or several of them together belong to, so
 * that an activity of a remembered prospect needs no look-up. It may be wrong for ever: the store checks that the prospect
 * is unchanged, and otherwise it is forgotten. An id says nothing about the other fields, which may be blocked.
 * Half of the entries are those used since the last turn; at each turn the others are forgotten: the least recently used
 * go first.
 */
export const rememberProspects = (entriesMax: number) => {
  const halfMax = Math.ceil(entriesMax / 2)
  let recent = entries()
  let older = entries()

  const keep = (identity: Identity, prospect: RememberedProspect): void => {
    if (halfMax === 0 || keyOf(identity) === '') return
    if (recent.size() >= halfMax) {
      older = recent
      recent = entries()
    }
    recent.set(identity, prospect)
  }

  return {
    /** The activity with its prospect, if that is remembered and the activity would fill none of its blanks. */
    locate: (activity: NewActivity): LocatedActivity => {
      const used = recent.get(activity)
      const prospect = used ?? older.get(activity)
      if (prospect === undefined || (!prospect.hasName && nameIn(activity) !== null)) return activity
      if (used === undefined) keep(activity, prospect)
      return { ...activity, remembered: prospect }
    },

    /** Remembers the prospect of an activity that was stored. */
    add: (activity: Identity, { prospectId, updatedAt, name }: StoredProspect): void =>
      keep(activity, { prospectId, updatedAt, hasName: name !== null }),

    forget: (identity: Identity): void => {
      recent.delete(identity)
      older.delete(identity)
    },
  }
}

/** A map for each tenant: an email exactly as sent is a cheaper key than a text that combines it with its tenant. */
const entries = () => {
  const maps = new Map<string, Map<string, RememberedProspect>>()
  let size = 0
  return {
    size: () => size,
    get: (identity: Identity) => maps.get(ownerOf(identity))?.get(keyOf(identity)),
    set: (identity: Identity, prospect: RememberedProspect): void => {
      const owner = ownerOf(identity)
      const map = maps.get(owner) ?? new Map<string, RememberedProspect>()
      if (map.size === 0) maps.set(owner, map)
      size -= map.size
      map.set(keyOf(identity), prospect)
      size += map.size
    },
    delete: (identity: Identity): void => {
      if (maps.get(ownerOf(identity))?.delete(keyOf(identity))) size--
    },
  }
}
const ownerOf = ({ tenantId, prospectId }: Identity): string =>
  prospectId === undefined ? tenantId : `${tenantId} by id`
/** Empty for an email that is too long to be remembered. No stored text contains NUL. */
const keyOf = ({ prospectId, externalId, email = '' }: Identity): string => {
  if (email.length > EMAIL_LENGTH_MAX) return ''
  const key = prospectId === undefined ? email : `${prospectId} ${email}`
  return externalId === undefined ? key : `${externalId}\0${key}`
}
