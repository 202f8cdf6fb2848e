import type { Warn } from './read-body.ts'

/** Warns if activities of a delivery are replays of earlier ones, but about other people: then the key may name no event. */
export const warnAboutKeys = (areAboutAnother: readonly boolean[], warn: Warn): void => {
  const count = areAboutAnother.filter(Boolean).length
  const all = areAboutAnother.length
  if (count === 0) return
  if (all === 1)
    warn('was not stored: an earlier activity has its idempotency key, and is about another person')
  else
    warn(
      `was stored without ${count} of its ${all} activities: earlier ones have their idempotency keys, and are about other people`,
    )
}
