import { sha256 } from '../../core/engine/keys.ts'
import { memoized } from '../../core/engine/memoized.ts'
import type { NewStoredErasure } from '../../core/ports/erasures.ts'
import type { IdentifierLookup } from '../../core/ports/identifiers.ts'
import type { NewMerge } from '../../core/ports/merges.ts'

export const newErasureRow = ({ blockedUntil, ...erasure }: NewStoredErasure) => {
  const formerlyOf = JSON.stringify(erasure.formerlyOf)
  return { ...erasure, formerlyOf, position: '', attempts: 0, claimableAt: erasure.requestedAt }
}

export const newMergeRow = (merge: NewMerge) => ({
  ...merge,
  apiKeyId: merge.apiKeyId ?? null,
  status: 'processing' as 'processing' | 'completed',
  completedAt: null as string | null,
  pass: 1 as 1 | 2,
  settlesAfter: null as string | null,
  attempts: 0,
  claimableAt: merge.requestedAt,
})

/** Hashes the domains of emails; null without one. Many emails of a list share a domain, so each is hashed once. */
export const domainHasher = () => {
  const hashOf = memoized(sha256)
  return (lookup?: Partial<IdentifierLookup>): string | null =>
    lookup?.domain === undefined ? null : hashOf(lookup.domain)
}
