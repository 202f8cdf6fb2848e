import { sha256 } from './hashes.ts'

/** What upstream systems send when they have no email. Stored with the log, but nobody's identity. */
const JUNK = new Set(['null', 'undefined', 'none', 'n/a', 'anonymous', 'unknown', '-1'])

export type MatchableEmail = { readonly email: string; readonly emailHash: string }

/** The email by which a prospect is found, with its hash; null where it is blank or junk. Any other text counts. */
export const matchableEmail = (email: string | undefined): MatchableEmail | null => {
  if (email === undefined) return null
  const normalised = email.trim().toLowerCase().normalize('NFC')
  if (normalised === '' || JUNK.has(normalised) || /^[0-]+$/.test(normalised)) return null
  return { email: normalised, emailHash: sha256(normalised) }
}
