import { sha256 } from '../engine/keys.ts'

/** What upstream systems send for a missing email or id. Stored with the log, but never matched. */
const JUNK = new Set(['null', 'undefined', 'none', 'n/a', 'anonymous', 'unknown', '-1'])

/** What identifies a prospect besides its own id; null what is missing, blank or junk. */
export type Identifiers = {
  readonly email: string | null
  readonly emailHash: string | null
  readonly externalId: string | null
  readonly externalIdHash: string | null
}
export const NO_IDENTIFIERS: Identifiers = {
  email: null,
  emailHash: null,
  externalId: null,
  externalIdHash: null,
}
type Sent = { readonly [Name in 'email' | 'externalId']?: string | null | undefined }

export const identifiersOf = ({ email, externalId }: Sent): Identifiers => ({
  ...NO_IDENTIFIERS,
  ...matchableEmail(email),
  ...matchableExternalId(externalId),
})

/** The email that identifies a prospect, normalised, and its hash; null if missing, blank or junk. Any other text counts. */
export const matchableEmail = (email?: string | null) => {
  const normalised = composed((email ?? '').trim().toLowerCase())
  return isJunk(normalised) ? null : { email: normalised, emailHash: sha256(normalised) }
}

/** The id that another system has for a prospect, exactly as sent, and its hash; null as for an email. */
export const matchableExternalId = (externalId?: string | null) =>
  !externalId || isJunk(externalId.trim().toLowerCase())
    ? null
    : { externalId, externalIdHash: sha256(externalId) }

const isJunk = (text: string): boolean => text === '' || JUNK.has(text) || /^[0-]+$/.test(text)

type Hashes = Pick<Identifiers, 'emailHash' | 'externalIdHash'>
export const isIdentified = ({ emailHash, externalIdHash }: Hashes): boolean =>
  emailHash !== null || externalIdHash !== null

/** What to look up for these. */
export const wantedBy = (named: readonly { readonly tenantId: string; readonly matchable: Hashes }[]) => ({
  emails: named.flatMap(({ tenantId, matchable: { emailHash } }) =>
    emailHash === null ? [] : [{ tenantId, emailHash }],
  ),
  externalIds: named.flatMap(({ tenantId, matchable: { externalIdHash } }) =>
    externalIdHash === null ? [] : [{ tenantId, externalIdHash }],
  ),
})

const SHORT_LENGTH_MAX = 1_000

/**
 * NFC sorts the combining marks of a letter in quadratic time: a megabyte of them would take minutes. A long text with
 * more marks in a row than any language uses (Unicode's Stream-Safe Text Format) is matched as it is.
 */
const composed = (text: string): string =>
  text.length > SHORT_LENGTH_MAX && /\p{M}{31}/u.test(text) ? text : text.normalize('NFC')
