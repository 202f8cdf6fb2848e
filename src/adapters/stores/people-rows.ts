import type { StoredErasure } from '../../core/ports/erasures.ts'
import type { NewMerge } from '../../core/ports/merges.ts'

export const newErasureRow = ({ blockedUntil, ...erasure }: StoredErasure) => {
  return { ...erasure, position: '', attempts: 0, claimableAt: erasure.requestedAt }
}

/** The tombstone that blocks the email and external id of an erasure. */
export const blockRow = (
  { tenantId, blockId, emailHash, externalIdHash }: StoredErasure,
  now: string,
  until: string,
) => ({
  ...{
    tenantId,
    prospectId: blockId ?? '',
    email: null,
    emailHash,
    externalId: null,
    externalIdHash,
    name: null,
  },
  ...{ createdAt: now, updatedAt: now, erasedAt: now, blockedUntil: until, mergedInto: null },
})

export const newMergeRow = (merge: NewMerge) => ({
  ...merge,
  apiKeyId: merge.apiKeyId ?? null,
  status: 'processing' as 'processing' | 'completed',
  completedAt: null as string | null,
  pass: 1 as 1 | 2,
  attempts: 0,
  claimableAt: merge.requestedAt,
})
