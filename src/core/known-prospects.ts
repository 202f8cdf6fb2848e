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

    add: (prospect: ProspectChange): void => {
      remember(prospect)
      changes.set(keyOf(prospect.tenantId, prospect.prospectId), prospect)
    },

    /** Nothing is overwritten, and an email that belongs to another prospect is ignored. */
    fillBlanks: (prospect: StoredProspect, matchable: MatchableEmail | null, name: string | null): void => {
      const { tenantId, prospectId } = prospect
      const isFree = matchable !== null && !byEmail.has(keyOf(tenantId, matchable.emailHash))
      const taken = prospect.emailHash === null && isFree ? matchable : null
      if (taken === null && (prospect.name !== null || name === null)) return
      const after = { tenantId, prospectId, name: prospect.name ?? name }
      const before = changes.get(keyOf(tenantId, prospectId))
      remember({ ...after, emailHash: taken?.emailHash ?? prospect.emailHash })
      changes.set(keyOf(tenantId, prospectId), {
        ...after,
        email: taken?.email ?? before?.email ?? null,
        emailHash: taken?.emailHash ?? before?.emailHash ?? null,
        createdAt: before?.createdAt ?? now,
      })
    },
  }
}
