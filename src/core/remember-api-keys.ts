import type { ApiKeys, StoredApiKey } from './ports/api-keys.ts'

type Limits = { readonly keysMax: number; readonly msMax: number }
type Remembered = {
  readonly key: Promise<StoredApiKey | null>
  until: number
  wasRight: boolean
  isBeingLookedUp: boolean
}

/**
 * Keeps keys in memory, so that a request costs no look-up. They are forgotten when a signal reports that keys have
 * changed, and after `msMax` in case the signal is lost. Keys that do not exist are not remembered.
 * `stopwatch`: milliseconds of a monotonic clock.
 */
export const rememberApiKeys = (
  findByHash: ApiKeys['findByHash'],
  stopwatch: () => number,
  { keysMax, msMax }: Limits,
) => {
  const remembered = new Map<string, Remembered>()

  const lookUp = (keyHash: string): Promise<StoredApiKey | null> => {
    if (remembered.size >= keysMax) remembered.clear()
    const wasRight = remembered.get(keyHash)?.wasRight ?? false
    const entry: Remembered = {
      key: findByHash(keyHash),
      until: stopwatch() + msMax,
      wasRight,
      isBeingLookedUp: true,
    }
    remembered.set(keyHash, entry)
    const isCurrent = () => remembered.get(keyHash) === entry
    entry.key.then(
      (key) => {
        entry.isBeingLookedUp = false
        entry.wasRight = key !== null
        if (key === null && isCurrent()) remembered.delete(keyHash)
      },
      // The next caller looks it up again.
      () => {
        entry.isBeingLookedUp = false
        entry.until = 0
        if (!wasRight && isCurrent()) remembered.delete(keyHash)
      },
    )
    return entry.key
  }

  return {
    findByHash: (keyHash: string): Promise<StoredApiKey | null> => {
      const entry = remembered.get(keyHash)
      return entry !== undefined && stopwatch() < entry.until ? entry.key : lookUp(keyHash)
    },
    /** Whether a key existed when it was last looked up, be that forgotten since, or is being looked up just now. */
    isKnown: (keyHash: string): boolean => {
      const entry = remembered.get(keyHash)
      return entry !== undefined && (entry.wasRight || entry.isBeingLookedUp)
    },
    forget: () => {
      for (const entry of remembered.values()) entry.until = 0
    },
  }
}
