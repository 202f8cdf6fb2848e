import type { Timestamp } from '../ports/world.ts'
import { isoTime } from './times.ts'

/** A secret and those before it, as they are stored. */
export type SealedSecrets = {
  readonly secret: string
  /** Those before it, newest first, with spaces between, each followed by `|` and until when it is valid. */
  readonly previousSecret: string | null
  /** Until when the last of them is valid. */
  readonly previousSecretUntil: Timestamp | null
  /** Of an endpoint: the names of its headers, and last all of it sealed. */
  readonly headers?: string | null
}

/** Those that are valid now, newest first. */
export const validSecrets = (sealed: SealedSecrets, nowMs: number): string[] =>
  sealed.previousSecret === null
    ? [sealed.secret]
    : [sealed.secret, ...oldSecrets(sealed, nowMs).map(({ secret }) => secret)]

const oldSecrets = ({ previousSecret, previousSecretUntil }: SealedSecrets, nowMs: number) => {
  const now = isoTime(nowMs)
  const old = previousSecret?.split(' ') ?? []
  return old.flatMap((text) => {
    const [secret = '', until = String(previousSecretUntil)] = text.split('|')
    return until > now ? { secret, until } : []
  })
}

/** The secrets that sign now; null if one was encrypted with a key that is lost. */
export const secretsOf = (
  sealed: SealedSecrets,
  nowMs: number,
  open: (sealed: string) => string | null,
): string[] | null => {
  const secrets = validSecrets(sealed, nowMs).map(open)
  return secrets.every((secret) => secret !== null) ? secrets : null
}

const HOUR_MS = 3_600_000
const OLD_MAX = 3

/** Those that are valid, each under the newest key, and what that meant; one that no key opens stays as it is. */
export const resealed = (found: SealedSecrets, nowMs: number, reseal: (sealed: string) => string | null) => {
  const counts = { rewritten: 0, alreadyNew: 0, undecipherable: 0 }
  const renew = (sealed: string): string => {
    const renewed = reseal(sealed)
    counts[renewed === null ? 'undecipherable' : renewed === sealed ? 'alreadyNew' : 'rewritten']++
    return renewed ?? sealed
  }
  const old = oldSecrets(found, nowMs)
  const previousSecret = old.map(({ secret, until }) => `${renew(secret)}|${until}`).join(' ') || null
  const previousSecretUntil = previousSecret && found.previousSecretUntil
  const headers = found.headers && { headers: found.headers.replace(/\S+$/, renew) }
  return { counts, sealed: { secret: renew(found.secret), previousSecret, previousSecretUntil, ...headers } }
}

/** After a rotation: the old one is valid until the overlap is over, and those before it as long as they were; none without an overlap. */
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
    previousSecret: old.map(({ secret, until }) => `${secret}|${until}`).join(' ') || null,
    previousSecretUntil: untils.at(-1) ?? null,
  }
}
