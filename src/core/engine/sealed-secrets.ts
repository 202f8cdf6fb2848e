import type { Timestamp } from '../ports/world.ts'
import { HOUR_MS, isoTime } from './times.ts'

/** A secret and its predecessors, as they are stored. */
export type SealedSecrets = {
  readonly secret: string
  /** The previous secrets, newest first, separated by spaces, each followed by `|` and the end of its validity. */
  readonly previousSecret: string | null
  /** The time until which the last of them is valid. */
  readonly previousSecretUntil: Timestamp | null
}

/** The secrets that are valid now, newest first. */
export const validSecrets = (sealed: SealedSecrets, nowMs: number): string[] =>
  sealed.previousSecret === null
    ? [sealed.secret]
    : [sealed.secret, ...oldSecrets(sealed, nowMs).map(({ secret }) => secret)]

type OldSecret = { readonly secret: string; readonly until: Timestamp }

/** The previous secrets that are still valid. */
const oldSecrets = (sealed: SealedSecrets, nowMs: number): OldSecret[] => {
  const now = isoTime(nowMs)
  return parseOld(sealed).filter(({ until }) => until > now)
}

const parseOld = ({ previousSecret, previousSecretUntil }: SealedSecrets): OldSecret[] => {
  const texts = previousSecret?.split(' ') ?? []
  return texts.map((text) => {
    const [secret = '', until = String(previousSecretUntil)] = text.split('|')
    return { secret, until }
  })
}

const writeOld = (old: readonly OldSecret[]): string | null =>
  old.map(({ secret, until }) => `${secret}|${until}`).join(' ') || null

/** The secrets that sign now; null if one was encrypted with a key that is lost. */
export const secretsOf = (
  sealed: SealedSecrets,
  nowMs: number,
  open: (sealed: string) => string | null,
): string[] | null => {
  const secrets = validSecrets(sealed, nowMs).map(open)
  return secrets.every((secret) => secret !== null) ? secrets : null
}

const OLD_MAX = 3

/** The valid secrets, each sealed again by `reseal`. */
export const resealedSecrets = (
  found: SealedSecrets,
  nowMs: number,
  reseal: (sealed: string) => string,
): SealedSecrets => {
  const old = oldSecrets(found, nowMs).map(({ secret, until }) => ({ secret: reseal(secret), until }))
  const previousSecret = writeOld(old)
  const previousSecretUntil = previousSecret && found.previousSecretUntil
  return { secret: reseal(found.secret), previousSecret, previousSecretUntil }
}

/**
 * Replaces a secret. It stays valid until the overlap ends, and older ones as long as before; none does without an overlap.
 */
export const rotatedTo = (
  secret: string,
  found: SealedSecrets,
  overlapHours: number,
  nowMs: number,
  isKept: (old: string) => boolean = () => true,
): SealedSecrets => {
  const until = isoTime(nowMs + overlapHours * HOUR_MS)
  const all = overlapHours === 0 ? [] : [{ secret: found.secret, until }, ...oldSecrets(found, nowMs)]
  const old = all.filter(({ secret }) => isKept(secret)).slice(0, OLD_MAX)
  const untils = old.map(({ until }) => until).sort()
  return {
    secret,
    previousSecret: writeOld(old),
    previousSecretUntil: untils.at(-1) ?? null,
  }
}
