import type { MatchableEmail } from './emails.ts'
import { keyOf } from './keys.ts'
import type { ProspectChange, StoredProspect } from './ports/activities.ts'

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

  return {
    byId: (tenantId: string, prospectId: string) => byId.get(keyOf(tenantId, prospectId)),
    byEmail: (tenantId: string, emailHash: string) => byEmail.get(keyOf(tenantId, emailHash)),
    changes: () => [...changes.values()],

    add: (prospect: ProspectChange): StoredProspect => {
      const added = { ...prospect, erasedAt: null }
      remember(added)
      changes.set(keyOf(prospect.tenantId, prospect.prospectId), prospect)
      return added
    },

    /** The prospect with its blanks filled. Nothing is overwritten, and an email of another prospect is ignored. */
    filled: (prospect: StoredProspect, matchable: MatchableEmail | null, name: string | null) => {
      const { tenantId, prospectId } = prospect
      const isFree = matchable !== null && !byEmail.has(keyOf(tenantId, matchable.emailHash))
      const taken = prospect.emailHash === null && isFree ? matchable : null
      if (taken === null && (prospect.name !== null || name === null)) return prospect
      const filled = { tenantId, prospectId, name: prospect.name ?? name }
      const after = { ...filled, emailHash: taken?.emailHash ?? prospect.emailHash, erasedAt: null }
      const before = changes.get(keyOf(tenantId, prospectId))
      remember(after)
      changes.set(keyOf(tenantId, prospectId), {
        ...filled,
        email: taken?.email ?? before?.email ?? null,
        emailHash: taken?.emailHash ?? before?.emailHash ?? null,
        createdAt: before?.createdAt ?? now,
        updatedAt: now,
      })
      return after
    },
  }
}
