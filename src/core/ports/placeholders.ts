import type { StoredProspect } from './activities.ts'
import type { Identifier } from './identifiers.ts'
import type { Recorded, Timestamp } from './world.ts'

/**
 * A placeholder of a tenant: an email, or a domain of emails, that identifies no one, because the tenant has listed it.
 * `value`: its normalized text.
 */
export type Placeholder = Omit<Identifier, 'kind'> & {
  readonly kind: 'email' | 'emailDomain'
  readonly value: string
}
/** The prospect that an email leads to, as it was read, and when it changes. */
export type Joined = Pick<StoredProspect, 'prospectId' | 'updatedAt'> & { readonly changesAt: Timestamp }
/** Emails of a domain that led to prospects until now. */
export type Released = {
  readonly prospectIds: readonly string[]
  /** Where to go on; null at the end. */
  readonly lastHash: string | null
}
/**
 * The part of a store that keeps the placeholders of tenants. `recall` returns such an email as an identifier without a
 * prospect and without a block, even if only its domain is listed.
 */
export type Placeholders = {
  /** All of a tenant, by kind and hash; at most 1,001. */
  list(tenantId: string): Promise<readonly Placeholder[]>
  /**
   * Adds an entry; nothing happens if there is one. If the email leads to a prospect, it no longer does, and the prospect's
   * `updatedAt` changes. Nothing is saved, and it returns `overtaken`, if that prospect is another one or was changed, if the
   * email is blocked longer than now, or if the tenant is gone.
   */
  add(entry: Placeholder, joined: Joined | null, now: Timestamp): Promise<Recorded>
  /** Whether there was such an entry. */
  remove(entry: Placeholder): Promise<boolean>
  /**
   * Reads the next `max` emails of a tenant, by their hashes. Those of a domain no longer lead to their prospects, whose
   * `updatedAt` changes.
   */
  releaseSome(query: {
    readonly tenantId: string
    readonly domain: string
    readonly afterHash: string
    readonly max: number
    readonly now: Timestamp
  }): Promise<Released>
}
