import { refuse } from '../engine/failures.ts'
import { isoTime } from '../engine/times.ts'
import type { StoredApiKey } from '../ports/api-keys.ts'
import type { Needs } from '../ports/store.ts'
import { hasEnded } from './identify.ts'
import { type IssuedApiKey, issueAt } from './issue-api-key.ts'
import { knownApiKey } from './revoke-api-key.ts'

/**
 * Issues a key like this one, for as long as this one was issued. This one ends after `overlapMs`, if not before. It may be
 * rotated again once its successor was revoked. Of two rotations at once one is refused, and its key is revoked.
 */
export const rotateApiKey =
  (deps: Needs<'apiKeys'>) =>
  async (apiKeyId: string, overlapMs: number): Promise<IssuedApiKey> => {
    const { store, clock } = deps
    const key = await knownApiKey(store, apiKeyId)
    const now = clock()
    if (hasEnded(key, now)) refuse('invalid_request', 'This key is expired or revoked; create a new one.')
    const refuseRotated = () =>
      refuse('invalid_request', 'This key was already rotated; rotate its successor or create a key.')
    const isSuccessor = ({ createdAt, name, scopes }: StoredApiKey) =>
      createdAt === key.rotatedAt && name === key.name && `${scopes}` === `${key.scopes}`
    const successors = (await store.apiKeys.list(key.tenantId)).filter(isSuccessor)
    if (key.rotatedAt !== null && !(successors.length > 0 && successors.every(isUnused))) refuseRotated()
    // A key in its overlap no longer shows its intended lifetime, but its successor does.
    const { expiresAt: end, createdAt } = successors[0] ?? key
    const lifeMs = end === null ? null : Date.parse(end) - Date.parse(createdAt)
    const issued = await issueAt(deps, { ...key, lifeMs }, now)
    const overlapEnds = isoTime(now + overlapMs)
    const expiresAt = key.expiresAt !== null && key.expiresAt < overlapEnds ? key.expiresAt : overlapEnds
    const rotation = { lastRotatedAt: key.rotatedAt, rotatedAt: isoTime(now), expiresAt }
    if (await store.apiKeys.end(apiKeyId, rotation)) return issued
    await store.apiKeys.end(issued.apiKeyId, { revokedAt: isoTime(now) })
    return refuseRotated()
  }

/** Revoked before it had a successor. */
const isUnused = ({ revokedAt, rotatedAt }: StoredApiKey): boolean => revokedAt !== null && rotatedAt === null
