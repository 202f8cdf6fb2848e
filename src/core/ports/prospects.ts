import type { Prospect } from '../../shapes/prospect.ts'
import type { Outcome } from '../engine/outcome.ts'
import type { NewEvent } from './events.ts'
import type { Scanned, SliceWant, Timestamp } from './world.ts'

/** A prospect as callers see it, or a tombstone. */
export type FoundProspect = Readonly<Prospect> & {
  readonly erasedAt: Timestamp | null
  /** The prospect that it was merged into. */
  readonly mergedInto: string | null
}
/** A prospect with its lookup hashes. */
export type KnownProspect = FoundProspect & {
  readonly emailHash: string | null
  readonly externalIdHash: string | null
}
/** Identifies one prospect. */
export type ProspectWant = Pick<FoundProspect, 'tenantId' | 'prospectId'>
/** The slice of a tenant's prospects to read: the one with an email or an external id, or all if both are null. */
export type ProspectsWant = SliceWant & {
  readonly emailHash: string | null
  readonly externalIdHash: string | null
}
/** How an email or a name begins, as `search-keys.ts` writes them. An empty beginning finds no one. */
type ProspectSearch = Pick<SliceWant, 'tenantId' | 'limit'> & {
  readonly emailStart: string
  readonly nameStart: string
}
/** The prospects of a tenant whose ids come after this one. */
export type OldestProspectsWant = Pick<SliceWant, 'tenantId' | 'limit'> & { readonly afterId: string }
/** The values to set. Undefined ones stay unchanged. */
export type ProspectUpdate = ProspectWant & {
  readonly email: { readonly email: string | null; readonly emailHash: string | null } | undefined
  readonly externalId:
    | { readonly externalId: string | null; readonly externalIdHash: string | null }
    | undefined
  readonly name: string | null | undefined
  readonly updatedAt: Timestamp
}
/** The part of a store that shows prospects, and corrects them. */
export type Prospects = {
  /** For each want, in order: the prospect or its tombstone, or null. */
  find(wants: readonly ProspectWant[]): Promise<readonly (FoundProspect | null)[]>
  /**
   * A prospect that is neither erased nor merged, followed by those that were merged into it, whose emails are left out; none
   * if there is no such one.
   */
  findWithMerged(want: ProspectWant): Promise<readonly KnownProspect[]>
  /**
   * For each want, in order: prospects that are neither erased nor merged, newest first. Resumes before an id. One may
   * fail alone. A search by hash includes merged prospects.
   */
  list(wants: readonly ProspectsWant[]): Promise<readonly Outcome<Scanned<FoundProspect>>[]>
  /**
   * Prospects that are not erased whose email begins like `emailStart`, or whose name or its last word begins like
   * `nameStart`: newest first, at most `limit`. Includes merged ones. Reads at most `SEARCHED_MAX` rows of each kind.
   */
  search(want: ProspectSearch): Promise<readonly FoundProspect[]>
  /** The oldest of those, oldest first, including tombstones: as `prospectLogs.listOldest`. */
  listOldest(want: OldestProspectsWant): Promise<readonly FoundProspect[]>
  /**
   * Returns the updated prospect, null if it is missing, erased or merged, `overtaken` if another one has this email or
   * external id. Prospects that were merged into it give them up.
   */
  update(update: ProspectUpdate, events?: readonly NewEvent[]): Promise<FoundProspect | null | 'overtaken'>
}
