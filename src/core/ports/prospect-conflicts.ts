import type { IdentifierKind } from './identifiers.ts'
import type { ProspectKey } from './prospects.ts'
import type { Timestamp } from './world.ts'

/** Two prospects whom one activity named: they may be one person. */
export type StoredConflict = ProspectKey & {
  /** The other prospect: the one with the greater id. */
  readonly otherId: string
  /** The field that named a prospect to whom the activity does not belong. */
  readonly field: IdentifierKind
  /** When such an activity was stored last. */
  readonly at: Timestamp
}
/** `isCurrent`: neither prospect was erased or merged. */
export type FoundConflict = StoredConflict & { readonly isCurrent: boolean }
/** The place of a conflict in the list. */
export type ConflictPosition = Pick<StoredConflict, 'at' | 'prospectId' | 'otherId'>
/** The conflicts of a tenant that come after a position: at most `max`. */
export type ConflictsQuery = {
  readonly tenantId: string
  readonly before: ConflictPosition | null
  readonly max: number
}

/** A conflict that was noted so recently is not written again. */
export const CONFLICT_REST_MS = 5 * 60_000

/** The part of a store that remembers which prospects may be one person. */
export type ProspectConflicts = {
  /**
   * Keeps one conflict for two prospects, with its newest time and field. Changes nothing unless both are neither erased
   * nor merged, or if their conflict was noted less than `CONFLICT_REST_MS` earlier. All are of one tenant, and no two of the
   * same prospects.
   */
  note(conflicts: readonly StoredConflict[]): Promise<void>
  /** The newest first; of those with the same time, those with the greatest ids. */
  list(query: ConflictsQuery): Promise<readonly FoundConflict[]>
  /** Deletes up to `max` conflicts of a prospect, or a few more. Returns how many. */
  removeOf(prospect: ProspectKey, max: number): Promise<number>
}
