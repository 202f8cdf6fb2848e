import { sha256 } from '../engine/keys.ts'
import { ADDRESS_LENGTH_MAX, addressIn } from './email-address.ts'
import { isPlaceholder } from './placeholders.ts'

/** Nearly every address: already normalized. `undefined@undefined` is not one. */
const PLAIN_ADDRESS = /^\w[\w.+'=~!&/?-]*@[a-z\d][\w-]*(?:\.[\w-]+)+$/
/** Most ids: no placeholder begins like this and has such a digit. */
const PLAIN_ID = /^(?:[a-z]{2}[\w:.-]*)?[1-9][\w:.-]*$/i

/** Columns that identify a prospect besides its id; null if missing, or if the given text identifies no person. */
export type Identifiers = Readonly<
  Record<'email' | 'emailHash' | 'externalId' | 'externalIdHash', string | null>
>
export const NO_IDENTIFIERS = { email: null, emailHash: null, externalId: null, externalIdHash: null }
type Sent = { readonly [Name in 'email' | 'externalId']?: string | null | undefined }
/** `formerEmailHash`: the hash by which older databases know the email, from before 0.1.0 read addresses; null if it is the same. */
export type Matchable = Identifiers & { readonly formerEmailHash: string | null }

/** The one place that decides which texts identify a person: only it normalizes emails and knows placeholders. */
export const identifiersOf = ({ email, externalId }: Sent): Matchable => ({
  ...NO_IDENTIFIERS,
  formerEmailHash: null,
  ...matchableEmail(email),
  ...matchableExternalId(externalId),
})

/** The email in its normalized form, and its hashes; null unless it is an address. */
const matchableEmail = (sent?: string | null) => {
  const lower = (sent ?? '').trim().toLowerCase()
  const email = PLAIN_ADDRESS.test(lower) && lower.length <= ADDRESS_LENGTH_MAX ? lower : addressIn(lower)
  if (email === null) return null
  const former = lower === email || lower.length > ADDRESS_LENGTH_MAX ? lower : lower.normalize('NFC')
  return { email, emailHash: sha256(email), formerEmailHash: former === email ? null : sha256(former) }
}

/** The id that another system has for a prospect, exactly as sent, and its hash; null for a placeholder. */
const matchableExternalId = (externalId?: string | null) =>
  !externalId || (!PLAIN_ID.test(externalId) && isPlaceholder(externalId))
    ? null
    : { externalId, externalIdHash: sha256(externalId) }

type Hashes = Pick<Identifiers, 'emailHash' | 'externalIdHash'>
export const isIdentified = ({ emailHash, externalIdHash }: Hashes): boolean =>
  emailHash !== null || externalIdHash !== null

type Named = { readonly tenantId: string; readonly matchable: Matchable }
/** The emails and external ids to look up for these. */
export const wantedBy = (named: readonly Named[]) => ({
  emails: named.flatMap(({ tenantId, matchable: { emailHash, formerEmailHash } }) =>
    [emailHash, formerEmailHash].flatMap((hash) => (hash === null ? [] : [{ tenantId, emailHash: hash }])),
  ),
  externalIds: named.flatMap(({ tenantId, matchable: { externalIdHash } }) =>
    externalIdHash === null ? [] : [{ tenantId, externalIdHash }],
  ),
})
