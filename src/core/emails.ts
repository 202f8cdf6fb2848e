import { sha256 } from './hashes.ts'

/** What upstream systems send when they have no email. Stored with the log, but nobody's identity. */
const JUNK = new Set(['null', 'undefined', 'none', 'n/a', 'anonymous', 'unknown', '-1'])

export type MatchableEmail = { readonly email: string; readonly emailHash: string }

/** The email by which a prospect is found, with its hash; null where it is blank or junk. Any other text counts. */
export const matchableEmail = (email: string | undefined): MatchableEmail | null => {
  if (email === undefined) return null
  const normalised = composed(email.trim().toLowerCase())
  if (normalised === '' || JUNK.has(normalised) || /^[0-]+$/.test(normalised)) return null
  return { email: normalised, emailHash: sha256(normalised) }
}

const SHORT_LENGTH_MAX = 1_000

/**
 * NFC puts the marks upon a letter in order, in quadratic time: on a megabyte of them it would run for minutes. A long
 * text with more marks in a row than any language has (Unicode's Stream-Safe Text Format) is matched as it stands.
 */
const composed = (text: string): string =>
  text.length > SHORT_LENGTH_MAX && /\p{M}{31}/u.test(text) ? text : text.normalize('NFC')
