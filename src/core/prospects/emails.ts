import { sha256 } from '../engine/keys.ts'

/** What upstream systems send for a missing email. Stored with the log, but never matched. */
const JUNK = new Set(['null', 'undefined', 'none', 'n/a', 'anonymous', 'unknown', '-1'])

export type MatchableEmail = { readonly email: string; readonly emailHash: string }

/** The email that identifies a prospect, normalised, and its hash; null if missing, blank or junk. Any other text counts. */
export const matchableEmail = (email = ''): MatchableEmail | null => {
  const normalised = composed(email.trim().toLowerCase())
  if (normalised === '' || JUNK.has(normalised) || /^[0-]+$/.test(normalised)) return null
  return { email: normalised, emailHash: sha256(normalised) }
}

const SHORT_LENGTH_MAX = 1_000

/**
 * NFC sorts the combining marks of a letter in quadratic time: a megabyte of them would take minutes. A long text with
 * more marks in a row than any language uses (Unicode's Stream-Safe Text Format) is matched as it is.
 */
const composed = (text: string): string =>
  text.length > SHORT_LENGTH_MAX && /\p{M}{31}/u.test(text) ? text : text.normalize('NFC')
