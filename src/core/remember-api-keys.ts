import type { ApiKeys, StoredApiKey } from './ports.ts'

type Limits = { readonly keysMax: number; readonly msMax: number }
type Remembered = { readonly key: Promise<StoredApiKey | null>; readonly until: number }

/**
 * Keeps keys in memory, so that a request costs no look-up. What it remembers is forgotten on a signal that keys have
 * changed, and after `msMax` in any case, should the signal be lost. Keys that do not exist are not remembered.
 * `stopwatch`: milliseconds that never go back, unlike a clock.
 */
export const rememberApiKeys = (
  findByHash: ApiKeys['findByHash'],
  stopwatch: () => number,
  { keysMax, msMax }: Limits,
) => {
  const remembered = new Map<string, Remembered>()

  const lookUp = (keyHash: string): Promise<StoredApiKey | null> => {
    if (remembered.size >= keysMax) remembered.clear()
    const entry = { key: findByHash(keyHash), until: stopwatch() + msMax }
    remembered.set(keyHash, entry)
    const drop = () => {
      if (remembered.get(keyHash) === entry) remembered.delete(keyHash)
    }
    entry.key.then((key) => key === null && drop(), drop)
    return entry.key
  }

  return {
    findByHash: (keyHash: string): Promise<StoredApiKey | null> => {
      const entry = remembered.get(keyHash)
      return entry !== undefined && stopwatch() < entry.until ? entry.key : lookUp(keyHash)
    },
    forget: () => remembered.clear(),
  }
}
