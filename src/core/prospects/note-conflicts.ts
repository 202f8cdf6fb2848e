import { isUnavailable } from '../engine/failures.ts'
import { keyOf } from '../engine/keys.ts'
import type { ActivityChange, LogChange } from '../ports/activities.ts'
import type { StoredConflict } from '../ports/prospect-conflicts.ts'
import type { Store } from '../ports/store.ts'

/** A small store need not remember conflicts. */
export type MayNoteConflicts = { readonly store: Partial<Pick<Store, 'prospectConflicts'>> }

/** Whether an activity names another prospect besides its own. */
export const namesOthers = ({ assumed }: ActivityChange): boolean =>
  assumed.some(({ prospectId }) => prospectId !== null)

/**
 * Notes the prospects whom stored activities name besides their own: they may be one person. If the store is away, nothing is
 * noted: refusing now would have the activities sent again, and the next one that names both is noted.
 */
export const noteConflicts = async (
  { store: { prospectConflicts } }: MayNoteConflicts,
  changes: readonly LogChange[],
): Promise<void> => {
  if (prospectConflicts === undefined || changes.length === 0) return
  /** The first one of each two prospects. */
  const conflicts = new Map<string, StoredConflict>()
  for (const { lookup, prospect, assumed, log } of changes) {
    for (const { kind, prospectId } of assumed) {
      if (prospectId === null) continue
      const [olderId = '', newerId = ''] = [prospect.prospectId, prospectId].toSorted()
      const pair = keyOf(olderId, newerId)
      if (conflicts.has(pair)) continue
      const { tenantId } = lookup
      conflicts.set(pair, { tenantId, prospectId: olderId, otherId: newerId, field: kind, at: log.createdAt })
    }
  }
  await prospectConflicts.note([...conflicts.values()]).catch(unlessUnavailable)
}

const unlessUnavailable = (error: unknown): void => {
  if (!isUnavailable(error)) throw error
}
