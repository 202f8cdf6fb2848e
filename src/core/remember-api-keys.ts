import type { ApiKeys, StoredApiKey } from './ports/api-keys.ts'

/**
 * Keeps keys in memory, so that a request costs no look-up. They are forgotten when a signal reports that keys have
 * changed, and after `msMax` in case the signal is lost. Keys that do not exist are not remembered.
 * `stopwatch`: milliseconds of a monotonic clock.
 */
export const rememberApiKeys = (
  findByHash: ApiKeys['findByHash'],
  stopwatch: () => number,
  { keysMax, msMax }: { readonly keysMax: number; readonly msMax: number },
) => {
  const remembered = new Map<string, { readonly key: Promise<StoredApiKey | null>; until: number }>()

  const lookUp = (keyHash: string): Promise<StoredApiKey | null> => {
    if (remembered.size >= keysMax) remembered.clear()
    const wasKnown = remembered.has(keyHash)
    const entry = { key: findByHash(keyHash), until: stopwatch() + msMax }
    remembered.set(keyHash, entry)
    const keepIf = (isKnown: boolean) => {
      if (!isKnown && remembered.get(keyHash) === entry) remembered.delete(keyHash)
    }
    entry.key.then(
      (key) => keepIf(key !== null),
      () => {
        entry.until = 0
        keepIf(wasKnown)
      },
    )
    return entry.key
  }

  return {
    findByHash: (keyHash: string): Promise<StoredApiKey | null> => {
      const entry = remembered.get(keyHash)
      return entry !== undefined && stopwatch() < entry.until ? entry.key : lookUp(keyHash)
    },
    /** Whether a key existed when it was last looked up, even if forgotten since, or is being looked up. */
    isKnown: (keyHash: string): boolean => remembered.has(keyHash),
    forget: () => {
      for (const entry of remembered.values()) entry.until = 0
    },
  }
}
