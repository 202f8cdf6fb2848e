import type { Timestamp } from './world.ts'

/** The kinds of identifiers. */
export type IdentifierKind = 'email' | 'externalId'
/** One identifier of a tenant, by the hash of its normalized text. */
export type Identifier = {
  readonly tenantId: string
  readonly kind: IdentifierKind
  readonly hash: string
}
/** An identifier to look up; an email with its domain, whose SHA-256 hash is the key of an `emailDomain`. */
export type IdentifierLookup = Identifier & { readonly domain?: string | undefined }
/** An identifier to add. `value`: its normalized text. */
export type NewIdentifier = Identifier & { readonly value: string; readonly prospectId: string }
/**
 * Where an identifier leads: to this prospect, which is neither erased nor merged. Without a prospect, it is blocked until
 * a time, after this erasure; or, without a time, it is a placeholder of its tenant: this email is listed or, if the email
 * leads nowhere, its domain.
 */
export type StoredIdentifier = Identifier & {
  readonly prospectId: string | null
  readonly blockedUntil: Timestamp | null
  readonly erasureId: string | null
}
/**
 * An identifier and where a decision saw it lead: to this prospect or, if that is null, to no prospect. Then it was neither
 * blocked nor a placeholder, and nor was the domain of an email.
 */
export type AssumedIdentifier = IdentifierLookup & { readonly prospectId: string | null }
