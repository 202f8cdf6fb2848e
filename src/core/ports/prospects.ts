import type { Prospect } from '../../shapes/prospect.ts'
import type { NewEvent } from './events.ts'
import type { Identifier, NewIdentifier } from './identifiers.ts'
import type { Recorded, RowsQuery, Scanned, Timestamp } from './world.ts'

/** A prospect as callers see it, or a tombstone. */
export type FoundProspect = Readonly<Prospect> & {
  readonly erasedAt: Timestamp | null
  /** The prospect that it was merged into. */
  readonly mergedInto: string | null
}
/** Identifies one prospect. */
export type ProspectKey = Pick<FoundProspect, 'tenantId' | 'prospectId'>
/** The slice of a tenant's prospects to read: the one that an identifier leads to, or all if it is null. */
export type ProspectsQuery = RowsQuery & {
  readonly identifier: Pick<Identifier, 'kind' | 'hash'> | null
}
/** How an email or a name begins, as `search-keys.ts` writes them. An empty beginning finds no one. */
type ProspectSearch = Pick<RowsQuery, 'tenantId' | 'limit'> & {
  readonly emailStart: string
  readonly nameStart: string
}
/** The prospects of a tenant whose ids come after this one. */
export type OldestProspectsQuery = Pick<RowsQuery, 'tenantId' | 'limit'> & { readonly afterId: string }
/**
 * A correction. All of it is saved, or nothing. Overtaken unless the prospect is unchanged and each identifier to add is
 * free. An identifier to add may lead to this prospect already.
 */
export type ProspectCorrected = {
  readonly before: FoundProspect
  readonly after: FoundProspect
  readonly added: readonly NewIdentifier[]
  /** Identifiers that the prospect had: they lead to it no longer, and are kept as former ones. */
  readonly released: readonly NewIdentifier[]
}
/** The part of a store that shows prospects, and corrects them. */
export type Prospects = {
  /** The prospect or its tombstone, or null. */
  find(key: ProspectKey): Promise<FoundProspect | null>
  /**
   * A prospect that is neither erased nor merged, followed by those that were merged into it, without their emails; none
   * if there is no such prospect.
   */
  findWithMerged(key: ProspectKey): Promise<readonly FoundProspect[]>
  /** Prospects that are neither erased nor merged, newest first. Resumes before an id. */
  list(query: ProspectsQuery): Promise<Scanned<FoundProspect>>
  /**
   * Prospects that are not erased whose email begins like `emailStart`, or whose name or its last word begins like
   * `nameStart`: newest first, at most `limit`. Includes merged ones. Reads at most `SEARCHED_MAX` rows of each kind.
   */
  search(query: ProspectSearch): Promise<readonly FoundProspect[]>
  /** The oldest of those, oldest first, including tombstones: as `prospectLogs.listOldest`. */
  listOldest(query: OldestProspectsQuery): Promise<readonly FoundProspect[]>
  correct(correction: ProspectCorrected, events?: readonly NewEvent[]): Promise<Recorded>
}
