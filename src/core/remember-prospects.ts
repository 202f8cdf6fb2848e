import type { NewActivity } from './new-log.ts'
import type { StoredProspect } from './ports/activities.ts'

/** A longer text would make the memory grow with what callers send. */
const EMAIL_LENGTH_MAX = 255
/** Since it was last seen in the database, so that an erasure by another process takes effect. */
export const REMEMBERED_MS_MAX = 60_000

/** How an activity names its prospect, and what it could fill in. */
type Identity = Pick<NewActivity, 'tenantId' | 'prospectId' | 'email' | 'name'>
type Entry = {
  readonly prospectId: string
  readonly hasEmail: boolean
  readonly hasName: boolean
  readonly until: number
}
/** What `rememberProspects` returns. */
export type RememberedProspects = ReturnType<typeof rememberProspects>

/**
 * Which prospect an id, an email exactly as sent, or the two together belong to: that changes only by a correction or an
 * erasure, so an activity of a remembered prospect needs no look-up. An id says nothing about an email that comes with
 * it, which may be blocked. Half of the entries are those used since the last turn; at each turn the others are
 * forgotten, so the least recently used go first. `stopwatch`: milliseconds of a monotonic clock.
 */
export const rememberProspects = (entriesMax: number, stopwatch: () => number) => {
  const halfMax = Math.ceil(entriesMax / 2)
  let recent = new Map<string, Entry>()
  let older: typeof recent = new Map()
  let forgottenMs = -Infinity

  const keep = (key: string, entry: Entry): void => {
    if (halfMax === 0) return
    if (recent.size >= halfMax) [recent, older] = [new Map(), recent]
    recent.set(key, entry)
  }

  return {
    stopwatch,

    /** The id of its prospect, if that is remembered and the activity would fill none of its blanks. */
    find: (identity: Identity): string | undefined => {
      const key = keyOfIdentity(identity)
      const entry = recent.get(key) ?? older.get(key)
      if (entry === undefined || stopwatch() >= entry.until) return undefined
      if (!recent.has(key)) keep(key, entry)
      const fillsEmail = !entry.hasEmail && identity.email !== undefined
      const fillsName = !entry.hasName && identity.name !== undefined
      return fillsEmail || fillsName ? undefined : entry.prospectId
    },

    /** `seenMs`: when the database was asked, by the stopwatch. */
    add: (identity: Identity, { prospectId, emailHash, name }: StoredProspect, seenMs: number): void => {
      const key = keyOfIdentity(identity)
      const [hasEmail, hasName] = [emailHash !== null, name !== null]
      if (key !== '' && seenMs > forgottenMs)
        keep(key, { prospectId, hasEmail, hasName, until: Math.floor(seenMs) + REMEMBERED_MS_MAX })
    },

    /** Prospects were changed or erased: also forgets what was asked of the database before now. */
    forget: (): void => {
      for (const entries of [recent, older]) entries.clear()
      forgottenMs = stopwatch()
    },
  }
}

/** Empty for an email that is too long to be remembered. */
const keyOfIdentity = ({ tenantId, prospectId, email = '' }: Identity): string => {
  if (email.length > EMAIL_LENGTH_MAX) return ''
  return prospectId !== undefined ? `${tenantId} id ${prospectId} ${email}` : `${tenantId} email ${email}`
}
