import type { Timestamp } from '../ports/world.ts'
import { isoTime } from './times.ts'

/** A secret and those before it, as they are stored. */
export type SealedSecrets = {
  readonly secret: string
  /** Valid too until then: newest first, separated by spaces. */
  readonly previousSecret: string | null
  readonly previousSecretUntil: Timestamp | null
}

/** Those that are valid now, newest first. */
export const validSecrets = (
  { secret, previousSecret, previousSecretUntil }: SealedSecrets,
  nowMs: number,
): string[] => {
  if (previousSecret === null || String(previousSecretUntil) <= isoTime(nowMs)) return [secret]
  return [secret, ...previousSecret.split(' ')]
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

/** After a rotation: up to three old ones stay valid until the overlap is over. */
export const rotatedTo = (
  secret: string,
  found: SealedSecrets,
  overlapHours: number,
  nowMs: number,
  isKept: (old: string) => boolean = () => true,
): SealedSecrets => {
  const until = overlapHours === 0 ? null : isoTime(nowMs + overlapHours * HOUR_MS)
  const old = until && validSecrets(found, nowMs).filter(isKept).slice(0, 3).join(' ')
  return { secret, previousSecret: old || null, previousSecretUntil: old ? until : null }
}
