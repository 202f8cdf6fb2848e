import type { RawJson } from '../../shapes/json.ts'
import type { Prospect } from '../../shapes/prospect.ts'
import type { NewEvent } from './events.ts'
import type { Identifier, IdentifierKind, NewIdentifier } from './identifiers.ts'
import type { Recorded, RowsQuery, Scanned, Timestamp } from './world.ts'

/** A prospect as callers see it, or a tombstone. */
export type FoundProspect = Readonly<Omit<Prospect, 'attributes'>> & {
  /** The text of an object as `attributes.ts` writes it; null if there are none. */
  readonly attributes: RawJson | null
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
/** Former identifiers of a prospect that keep their text, of each kind: the newest. Of older ones only the hash is left. */
export const FORMER_TEXTS_MAX = 20
/** Identifiers of each kind that are listed of those that lead to a prospect. */
export const LEADING_LISTED_MAX = 100
/** The text of an identifier that leads to a prospect or, if it is a former one, of one that it had. */
export type ProspectIdentifier = {
  readonly kind: IdentifierKind
  readonly value: string
  readonly isFormer: boolean
}
/** Former identifiers that are read to find those who had one. Several of them may have the same survivor. */
export const FORMER_OWNERS_READ_MAX = 100
/** An identifier, and how many of those who had it are wanted. */
export type FormerOwnersQuery = Identifier & { readonly limit: number }
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
  /**
   * Identifiers that never were the prospect's: those that lead to it lead to no one, and none is kept as a former one, nor
   * shown with a prospect that was merged into it.
   */
  readonly forgotten: readonly NewIdentifier[]
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
  /**
   * The identifiers that lead to a prospect, at most `LEADING_LISTED_MAX` of each kind, in the order of their hashes. Then, at
   * most `FORMER_TEXTS_MAX` of each kind, the former ones of it and of those that were merged into it: newest first.
   */
  identifiers(key: ProspectKey): Promise<readonly ProspectIdentifier[]>
  /**
   * Ids of the prospects that had this identifier and are not erased, or of their survivors: the last who had it first. Reads
   * at most `FORMER_OWNERS_READ_MAX` former identifiers.
   */
  formerOwners(query: FormerOwnersQuery): Promise<readonly string[]>
  correct(correction: ProspectCorrected, events?: readonly NewEvent[]): Promise<Recorded>
}
