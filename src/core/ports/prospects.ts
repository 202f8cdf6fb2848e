import type { Prospect } from '../../shapes/prospect.ts'
import type { Outcome } from '../engine/outcome.ts'
import type { NewEvent } from './events.ts'
import type { Scanned, SliceWant, Timestamp } from './world.ts'

/** A prospect as callers see it, or a tombstone. */
export type FoundProspect = Readonly<Prospect> & { readonly erasedAt: Timestamp | null }
/** Names one prospect. */
export type ProspectWant = Pick<FoundProspect, 'tenantId' | 'prospectId'>
/** Which slice of a tenant's prospects to read. `emailHash` null: all of them. */
export type ProspectsWant = SliceWant & { readonly emailHash: string | null }
/** What to set. What is undefined stays as it is. */
export type ProspectUpdate = ProspectWant & {
  readonly email: { readonly email: string | null; readonly emailHash: string | null } | undefined
  readonly name: string | null | undefined
  readonly updatedAt: Timestamp
}
/** The part of a store that shows prospects, and corrects them. */
export type Prospects = {
  /** For each want, in order: the prospect or its tombstone, or null. */
  find(wants: readonly ProspectWant[]): Promise<readonly (FoundProspect | null)[]>
  /** For each want, in order: prospects, but no tombstones, newest first. Resumes before an id. One may fail alone. */
  list(wants: readonly ProspectsWant[]): Promise<readonly Outcome<Scanned<FoundProspect>>[]>
  /** Returns the updated prospect, null if it is missing or erased, `overtaken` if another one has this email. */
  update(update: ProspectUpdate, events?: readonly NewEvent[]): Promise<FoundProspect | null | 'overtaken'>
}
