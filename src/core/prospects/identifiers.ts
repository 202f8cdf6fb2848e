import { sha256 } from '../engine/keys.ts'
import type { IdentifierKind, IdentifierLookup } from '../ports/identifiers.ts'
import { ADDRESS_LENGTH_MAX, addressIn } from './email-address.ts'
import { isNobodysAddress, isPlaceholderId } from './placeholders.ts'

// Both patterns only save time, because every activity passes here: the full checks accept what they match, unchanged.
/** Nearly every address: already normalized. */
const PLAIN_ADDRESS = /^\w[\w.+'=~!&/?-]*@[a-z\d][\w-]*(?:\.[\w-]+)+$/
/** A number that is not the end of the range of a type. */
const NUMBER = String.raw`(?!2147483647$|4294967295$|9223372036854775807$|18446744073709551615$)0*[1-9]\d*`
/** A UUID of more than zeros and f. */
const UUID = String.raw`(?=[0f-]*[1-9a-e])[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}`
/** A number and then letters, but no time such as `1970-01-01T00:00` and no `4.1E11`. */
const NUMBER_AND_LETTERS = String.raw`[1-9][\d-]*[a-df-su-y][\w:.-]*`
/** Letters and then a number, but not `table:0x5566` and `System.Int32`. */
const LETTERS_AND_NUMBER = String.raw`(?!xx|[a-z]+[.:])[a-z][a-z_0:.-]*[1-9][\w:.-]*`
/** Most ids. */
const PLAIN_ID = new RegExp(`^(?:${NUMBER}|${LETTERS_AND_NUMBER}|${NUMBER_AND_LETTERS}|${UUID})$`, 'i')

/** The normalized text of an identifier, and its hash. */
type Normalized = { readonly value: string; readonly hash: string }
/** The identifiers of a request; null if missing, or if the text identifies no one. */
export type Matchable = Readonly<Record<IdentifierKind, Normalized | null>>
export const IDENTIFIER_KINDS = ['email', 'externalId'] as const
/** The identifiers as a request has them. */
export type SentIdentifiers = { readonly [Kind in IdentifierKind]?: string | null | undefined }

/** The one place that decides which texts identify a person: only it normalizes emails and knows placeholders. */
export const normalizedTexts = ({
  email,
  externalId,
}: SentIdentifiers): Readonly<Record<IdentifierKind, string | null>> => ({
  email: normalizedEmail(email),
  externalId: normalizedExternalId(externalId),
})

/** Each identifier as one text, whatever its kind. */
export const identifierTexts = ({ email, externalId }: Readonly<Record<IdentifierKind, string | null>>) => {
  const texts: string[] = []
  if (email !== null) texts.push(`email ${email}`)
  if (externalId !== null) texts.push(`externalId ${externalId}`)
  return texts
}

export const identifiersOf = (sent: SentIdentifiers): Matchable => {
  const { email, externalId } = normalizedTexts(sent)
  return {
    email: email === null ? null : { value: email, hash: sha256(email) },
    externalId: externalId === null ? null : { value: externalId, hash: sha256(externalId) },
  }
}

/** The email in its normalized form; null unless it is an address. */
const normalizedEmail = (sent?: string | null): string | null => {
  const lower = (sent ?? '').trim().toLowerCase()
  if (!PLAIN_ADDRESS.test(lower) || lower.length > ADDRESS_LENGTH_MAX) return addressIn(lower)
  const at = lower.indexOf('@')
  return isNobodysAddress(lower.slice(0, at), lower.slice(at + 1)) ? null : lower
}

/** The id that another system has for a prospect, exactly as sent; null for a placeholder. */
const normalizedExternalId = (sent?: string | null): string | null =>
  !sent || (!PLAIN_ID.test(sent) && isPlaceholderId(sent)) ? null : sent

export const isIdentified = ({ email, externalId }: Matchable): boolean =>
  email !== null || externalId !== null

/** The identifiers to look up in a tenant. */
export const identifiersToLookUp = (
  tenantId: string,
  { email, externalId }: Matchable,
): IdentifierLookup[] => {
  const identifiers: IdentifierLookup[] = []
  if (email !== null)
    identifiers.push({ tenantId, kind: 'email', hash: email.hash, domain: domainOf(email.value) })
  if (externalId !== null) identifiers.push({ tenantId, kind: 'externalId', hash: externalId.hash })
  return identifiers
}

export const domainOf = (email: string): string => email.slice(email.indexOf('@') + 1)
