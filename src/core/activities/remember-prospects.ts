import type { StoredProspect } from '../ports/activities.ts'
import type { Signal } from '../ports/store.ts'
import type { LocatedActivity, NewActivity } from './new-log.ts'

/** A longer text would let callers fill the memory. */
const EMAIL_LENGTH_MAX = 255
/** Time since a prospect was last seen in the database. Bounded so that an erasure by another process takes effect. */
export const REMEMBERED_MS_MAX = 60_000
/** If more tenants than this change prospects, all are forgotten. */
const FORGOTTEN_MAX = 1_000

/** The identifiers by which an activity names its prospect, and the fields it could fill in. */
type Identity = Pick<NewActivity, 'tenantId' | 'prospectId' | 'externalId' | 'email' | 'name'>
type Entry = {
  readonly prospectId: string
  readonly hasEmail: boolean
  readonly hasExternalId: boolean
  readonly hasName: boolean
  readonly until: number
}
export type RememberedProspects = ReturnType<typeof rememberProspects>

/**
 * Remembers which prospect an id, an external id, an email exactly as sent, or several of them together belong to. That
 * changes only by a correction or an erasure, so an activity of a remembered prospect needs no look-up. An id says
 * nothing about the other fields, which may be blocked. Half of the entries are those used since the last turn; at each
 * turn the others are forgotten: the least recently used go first. `stopwatch`: milliseconds, see `createStopwatch`.
 */
export const rememberProspects = (entriesMax: number, stopwatch: () => number) => {
  const halfMax = Math.ceil(entriesMax / 2)
  let [recent, older] = [entries(), entries()]
  let allForgottenMs = -Infinity
  const forgottenMs = new Map<string, number>()

  const keep = (identity: Identity, entry: Entry): void => {
    if (halfMax === 0) return
    if (recent.size() >= halfMax) [recent, older] = [entries(), recent]
    recent.set(identity, entry)
  }

  /** Prospects of a tenant, or of any, were changed or erased: also forgets reads that began before now. */
  const forget = (tenantId?: string): void => {
    if (tenantId !== undefined && forgottenMs.size < FORGOTTEN_MAX) {
      forgottenMs.set(tenantId, stopwatch())
    } else {
      ;[recent, older] = [entries(), entries()]
      allForgottenMs = stopwatch()
      forgottenMs.clear()
    }
  }
  const isForgotten = ({ tenantId }: Identity, { until }: Pick<Entry, 'until'>): boolean =>
    until - REMEMBERED_MS_MAX <= Math.max(allForgottenMs, forgottenMs.get(tenantId) ?? -Infinity)

  /** The id of its prospect, if that is remembered and the activity would fill none of its blanks; and when it was found. */
  const find = (identity: Identity): { readonly rememberedId: string; readonly locatedMs: number } | null => {
    const used = recent.get(identity)
    const entry = used ?? older.get(identity)
    if (entry === undefined || isForgotten(identity, entry)) return null
    const locatedMs = stopwatch()
    if (locatedMs >= entry.until) return null
    if (used === undefined) keep(identity, entry)
    const fillsEmail = !entry.hasEmail && identity.email !== undefined
    const fillsExternalId = !entry.hasExternalId && identity.externalId !== undefined
    const fillsName = !entry.hasName && identity.name !== undefined
    return fillsEmail || fillsExternalId || fillsName ? null : { rememberedId: entry.prospectId, locatedMs }
  }

  return {
    stopwatch,
    locate: (activity: NewActivity): LocatedActivity => {
      const found = find(activity)
      return found ? { ...activity, ...found } : activity
    },

    /** `seenMs`: when the database was queried, by the stopwatch. */
    add: (identity: Identity, prospect: StoredProspect, seenMs: number): void => {
      const { prospectId, emailHash, externalIdHash, name } = prospect
      const entry = {
        prospectId,
        hasEmail: emailHash !== null,
        hasExternalId: externalIdHash !== null,
        hasName: name !== null,
        until: Math.floor(seenMs) + REMEMBERED_MS_MAX,
      }
      if (keyOf(identity) !== '' && !isForgotten(identity, entry)) keep(identity, entry)
    },

    forget,
    onSignal: (signal: Signal): void => {
      const [what, tenantId] = signal.split(' ')
      if (what === 'prospects') forget(tenantId)
    },
  }
}

/** A map for each tenant: an email exactly as sent is a cheaper key than a text that combines it with its tenant. */
const entries = () => {
  const maps = new Map<string, Map<string, Entry>>()
  let size = 0
  return {
    size: () => size,
    get: (identity: Identity) => maps.get(ownerOf(identity))?.get(keyOf(identity)),
    set: (identity: Identity, entry: Entry): void => {
      const owner = ownerOf(identity)
      const map = maps.get(owner) ?? new Map<string, Entry>()
      if (map.size === 0) maps.set(owner, map)
      size -= map.size
      map.set(keyOf(identity), entry)
      size += map.size
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
