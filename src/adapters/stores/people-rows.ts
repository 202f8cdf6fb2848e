import type { StoredErasure } from '../../core/ports/erasures.ts'
import type { NewMerge } from '../../core/ports/merges.ts'

export const newErasureRow = ({ blockedUntil, ...erasure }: StoredErasure) => {
  return { ...erasure, position: '', attempts: 0, claimableAt: erasure.requestedAt }
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
