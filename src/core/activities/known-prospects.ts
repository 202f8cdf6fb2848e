import { keyOf } from '../engine/keys.ts'
import type { ProspectChange, StoredProspect } from '../ports/activities.ts'
import type { MatchableEmail } from '../prospects/emails.ts'

/** The prospects that a list of activities needs, as they will be once the list is saved. */
export const knownProspects = (stored: readonly StoredProspect[], now: string) => {
  const byId = new Map<string, StoredProspect>()
  const byEmail = new Map<string, StoredProspect>()
  const changes = new Map<string, ProspectChange>()

  const remember = (prospect: StoredProspect) => {
    byId.set(keyOf(prospect.tenantId, prospect.prospectId), prospect)
    if (prospect.emailHash !== null) byEmail.set(keyOf(prospect.tenantId, prospect.emailHash), prospect)
  }
  for (const prospect of stored) remember(prospect)

  /** Only `taken` changes an email. */
  const put = (prospect: StoredProspect, taken: MatchableEmail | null): StoredProspect => {
    const { tenantId, prospectId, name } = prospect
    const key = keyOf(tenantId, prospectId)
    const before = changes.get(key) ?? { email: null, emailHash: null, createdAt: now, updatedAt: now }
    changes.set(key, { ...before, ...taken, tenantId, prospectId, name })
    const after = { ...prospect, emailHash: taken?.emailHash ?? prospect.emailHash }
    remember(after)
    return after
  }

  return {
    byId: (tenantId: string, prospectId: string) => byId.get(keyOf(tenantId, prospectId)),
    byEmail: (tenantId: string, emailHash: string) => byEmail.get(keyOf(tenantId, emailHash)),
    changes: () => [...changes.values()],
    added: (tenantId: string, prospectId: string, matchable: MatchableEmail | null, name: string | null) =>
      put({ tenantId, prospectId, name, emailHash: null, erasedAt: null }, matchable),

    /** The prospect with its blanks filled. Nothing is overwritten, and an email of another prospect is ignored. */
    filled: (prospect: StoredProspect, matchable: MatchableEmail | null, name: string | null) => {
      const isFree = matchable !== null && !byEmail.has(keyOf(prospect.tenantId, matchable.emailHash))
      const taken = prospect.emailHash === null && isFree ? matchable : null
      const isFilled = taken === null && (prospect.name !== null || name === null)
      return isFilled ? prospect : put({ ...prospect, name: prospect.name ?? name }, taken)
    },
  }
}
