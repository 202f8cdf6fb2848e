import type { ProspectConflict } from '../../shapes/prospect.ts'
import type { SliceQuery } from '../../shapes/slice.ts'
import { sliceOf } from '../engine/slices.ts'
import { positionAt, positionIn } from '../engine/time-positions.ts'
import type { ConflictPosition, FoundConflict } from '../ports/prospect-conflicts.ts'
import type { Needs } from '../ports/store.ts'

/** Which slice of the conflicts of a tenant to list. */
export type ProspectConflictListing = SliceQuery & { readonly tenantId: string }

/**
 * Lists pairs of prospects whom one activity named, newest first: they may be one person. A pair is gone once either of
 * them is merged or erased. Refuses `invalid_cursor`.
 */
export const listProspectConflicts = ({ store }: Pick<Needs<'prospectConflicts'>, 'store'>) =>
  sliceOf({
    nameOf: (_: ProspectConflictListing) => 'prospect_conflicts',
    find: async ({ tenantId, limit, beforeId }) => {
      const before = beforeId === null ? null : conflictPosition(beforeId)
      const found = await store.prospectConflicts.list({ tenantId, before, max: limit + 1 })
      const last = found.at(-1)
      const resume = last !== undefined && found.length > limit ? positionOf(last) : null
      return { rows: found.filter(({ isCurrent }) => isCurrent), resume }
    },
    position: /^\d{1,14} prospect_[a-z0-9]{26} prospect_[a-z0-9]{26}$/,
    positionOf,
    itemOf: conflictOf,
  })

const positionOf = ({ at, prospectId, otherId }: ConflictPosition): string =>
  positionAt(at, prospectId, otherId)

const conflictPosition = (text: string): ConflictPosition => {
  const [at, prospectId = '', otherId = ''] = positionIn(text)
  return { at, prospectId, otherId }
}

const conflictOf = ({ prospectId, otherId, field, at }: FoundConflict): ProspectConflict => ({
  prospectIds: [prospectId, otherId],
  field,
  at,
})
