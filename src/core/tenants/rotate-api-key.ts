import { refuse } from '../engine/failures.ts'
import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import { hasEnded } from './identify.ts'
import { type IssuedApiKey, issueAt } from './issue-api-key.ts'
import { knownApiKey } from './revoke-api-key.ts'

/** Issues a key like this one, for as long as this one was issued. This one ends after `overlapMs`, if not before. */
export const rotateApiKey =
  (deps: Needs<'apiKeys'>) =>
  async (apiKeyId: string, overlapMs: number): Promise<IssuedApiKey> => {
    const { store, clock } = deps
    const key = await knownApiKey(store, apiKeyId)
    const now = clock()
    if (hasEnded(key, now)) refuse('invalid_request', 'This key is expired or revoked; create a new one.')
    if (key.rotatedAt !== null)
      refuse('invalid_request', 'This key was already rotated; rotate its successor or create a key.')
    const lifeMs = key.expiresAt === null ? null : Date.parse(key.expiresAt) - Date.parse(key.createdAt)
    const issued = await issueAt(deps, { ...key, lifeMs }, now)
    const overlapEnds = isoTime(now + overlapMs)
    const expiresAt = key.expiresAt !== null && key.expiresAt < overlapEnds ? key.expiresAt : overlapEnds
    await store.apiKeys.end(apiKeyId, { rotatedAt: isoTime(now), expiresAt })
    return issued
  }
