import { sha256 } from '../engine/keys.ts'
import type { Identifier, IdentifierKind } from '../ports/identifiers.ts'
import { ADDRESS_LENGTH_MAX, addressIn } from './email-address.ts'
import { isPlaceholder } from './placeholders.ts'

// Both patterns only save time, because every activity passes here: the full checks accept what they match, unchanged.
/** Nearly every address: already normalized. `undefined@undefined` is not one. */
const PLAIN_ADDRESS = /^\w[\w.+'=~!&/?-]*@[a-z\d][\w-]*(?:\.[\w-]+)+$/
/** Most ids: no placeholder begins like this and has such a digit. */
const PLAIN_ID = /^(?:[a-z]{2}[\w:.-]*)?[1-9][\w:.-]*$/i

/** The normalized text of an identifier, and its hash. */
type Normalized = { readonly value: string; readonly hash: string }
/** The identifiers of a request; null if missing, or if the text identifies no one. */
export type Matchable = Readonly<Record<IdentifierKind, Normalized | null>>
export const IDENTIFIER_KINDS = ['email', 'externalId'] as const
type Sent = { readonly [Kind in IdentifierKind]?: string | null | undefined }

/** The one place that decides which texts identify a person: only it normalizes emails and knows placeholders. */
export const normalizedTexts = ({
  email,
  externalId,
}: Sent): Readonly<Record<IdentifierKind, string | null>> => ({
  email: normalizedEmail(email),
  externalId: normalizedExternalId(externalId),
})

export const identifiersOf = (sent: Sent): Matchable => {
  const { email, externalId } = normalizedTexts(sent)
  return {
    email: email === null ? null : { value: email, hash: sha256(email) },
    externalId: externalId === null ? null : { value: externalId, hash: sha256(externalId) },
  }
}

/** The email in its normalized form; null unless it is an address. */
const normalizedEmail = (sent?: string | null): string | null => {
  const lower = (sent ?? '').trim().toLowerCase()
  return PLAIN_ADDRESS.test(lower) && lower.length <= ADDRESS_LENGTH_MAX ? lower : addressIn(lower)
}

/** The id that another system has for a prospect, exactly as sent; null for a placeholder. */
const normalizedExternalId = (sent?: string | null): string | null =>
  !sent || (!PLAIN_ID.test(sent) && isPlaceholder(sent)) ? null : sent

export const isIdentified = ({ email, externalId }: Matchable): boolean =>
  email !== null || externalId !== null

/** The identifiers to look up in a tenant. */
export const identifiersToLookUp = (tenantId: string, { email, externalId }: Matchable): Identifier[] => {
  const identifiers: Identifier[] = []
  if (email !== null) identifiers.push({ tenantId, kind: 'email', hash: email.hash })
  if (externalId !== null) identifiers.push({ tenantId, kind: 'externalId', hash: externalId.hash })
  return identifiers
}
