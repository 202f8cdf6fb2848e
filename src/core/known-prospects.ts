import type { MatchableEmail } from './emails.ts'
import { keyOf } from './keys.ts'
import type { ProspectChange, StoredProspect } from './ports/activities.ts'

const BLANK = { email: null, emailHash: null }

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

    added: (tenantId: string, prospectId: string, matchable: MatchableEmail | null, name: string | null) => {
      const fields = { ...BLANK, ...matchable, tenantId, prospectId, name }
      const prospect = { ...fields, createdAt: now, updatedAt: now, erasedAt: null }
      remember(prospect)
      changes.set(keyOf(tenantId, prospectId), prospect)
      return prospect
    },

    /** The prospect with its blanks filled. Nothing is overwritten, and an email of another prospect is ignored. */
    filled: (prospect: StoredProspect, matchable: MatchableEmail | null, name: string | null) => {
      const { tenantId, prospectId, emailHash } = prospect
      const isFree = matchable !== null && !byEmail.has(keyOf(tenantId, matchable.emailHash))
      const taken = emailHash === null && isFree ? matchable : null
      if (taken === null && (prospect.name !== null || name === null)) return prospect
      const filled = { tenantId, prospectId, name: prospect.name ?? name }
      const before = changes.get(keyOf(tenantId, prospectId))
      const change = before ?? { ...BLANK, createdAt: now, updatedAt: now }
      changes.set(keyOf(tenantId, prospectId), { ...change, ...taken, ...filled })
      const after = { ...filled, emailHash: taken?.emailHash ?? emailHash, erasedAt: null }
      remember(after)
      return after
    },
  }
}
