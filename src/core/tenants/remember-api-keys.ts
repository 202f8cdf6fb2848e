import { gather } from '../engine/gather.ts'
import { LIST_LENGTH_MAX } from '../engine/in-order.ts'
import type { ApiKeys, StoredApiKey } from '../ports/api-keys.ts'

/** However many keys are guessed at once, they are looked up by one statement at a time. Those that exist wait for no slow one. */
const LOOK_UPS = { listLengthMax: LIST_LENGTH_MAX, listsInFlightMax: 1, dedupeKey: String }

/**
 * Keeps keys in memory, so that a request costs no look-up. They are looked up again after a signal that keys have
 * changed, and after `msMax` in case the signal is lost. Keys that do not exist are not remembered.
 * `stopwatch`: milliseconds of a monotonic clock.
 */
export const rememberApiKeys = (
  findByHashes: ApiKeys['findByHashes'],
  stopwatch: () => number,
  { keysMax, msMax }: { readonly keysMax: number; readonly msMax: number },
) => {
  const remembered = new Map<string, { key: StoredApiKey; until: number; afterSignals: number }>()
  let signals = 0

  const findEach = async (keyHashes: readonly string[]): Promise<(StoredApiKey | null)[]> => {
    const found = new Map((await findByHashes(keyHashes)).map((key) => [key.keyHash, key]))
    return keyHashes.map((keyHash) => found.get(keyHash) ?? null)
  }
  // Apart, so that no known key waits for guesses.
  const findKnown = gather(findEach, { ...LOOK_UPS, listsInFlightMax: 4 })
  const findUnknown = gather(findEach, LOOK_UPS)

  return {
    find: async (keyHash: string): Promise<StoredApiKey | null> => {
      const entry = remembered.get(keyHash)
      if (entry && entry.afterSignals === signals && stopwatch() < entry.until) return entry.key
      const asked = { until: stopwatch() + msMax, afterSignals: signals }
      const key = await (entry ? findKnown : findUnknown)(keyHash)
      if (key === null) remembered.delete(keyHash)
      else {
        if (!entry && remembered.size >= keysMax) remembered.clear()
        remembered.set(keyHash, { key, ...asked })
      }
      return key
    },
    /** Whether a key existed when it was last looked up, even if that was before a signal. */
    isKnown: (keyHash: string): boolean => remembered.has(keyHash),
    forget: () => {
      signals++
    },
  }
}
