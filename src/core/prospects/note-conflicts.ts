import { isUnavailable } from '../engine/failures.ts'
import type { ActivityChange } from '../ports/activities.ts'
import type { ProspectConflicts } from '../ports/prospect-conflicts.ts'
import type { Store } from '../ports/store.ts'
import type { Timestamp } from '../ports/world.ts'

/** A small store need not remember conflicts. */
export type MayNoteConflicts = { readonly store: Partial<Pick<Store, 'prospectConflicts'>> }

/** Whether an activity names another prospect besides its own. */
export const namesOthers = ({ assumed }: ActivityChange): boolean =>
  assumed.some(({ prospectId }) => prospectId !== null)

/**
 * Notes the prospects whom a stored activity names besides its own: they may be one person. If the store is away, nothing is
 * noted: refusing now would have the activity sent again, and the next one that names both is noted.
 */
export const noteConflicts = async (
  conflicts: Pick<ProspectConflicts, 'note'>,
  { lookup, prospect, assumed }: ActivityChange,
  at: Timestamp,
): Promise<void> => {
  for (const { kind, prospectId } of assumed) {
    if (prospectId === null) continue
    const [olderId = '', newerId = ''] = [prospect.prospectId, prospectId].toSorted()
    const conflict = { tenantId: lookup.tenantId, prospectId: olderId, otherId: newerId, field: kind, at }
    await conflicts.note(conflict).catch(unlessUnavailable)
  }
}

const unlessUnavailable = (error: unknown): void => {
  if (!isUnavailable(error)) throw error
}
