/** The keys of secrets. The newest encrypts, if there is one, and all of them decrypt. */
export type SecretsKeys = { readonly newest: Buffer | null; readonly older: readonly Buffer[] }

export type KeySetting = 'SECRETS_KEY' | 'SECRETS_KEY_PREVIOUS'
/** What became of the key in a file. While it is unusable, the last key counts. */
export type KeyChange = { readonly setting: KeySetting } & (
  | { readonly became: 'replaced' | 'usable' }
  | { readonly became: 'unusable'; readonly why: string }
)
type Notify = (change: KeyChange) => void

/**
 * Follows the keys: the result reads them again whenever it is called, and returns the same object until one is replaced.
 * `notify` is called once for each change.
 */
export type FollowKeys = (notify: Notify) => () => SecretsKeys

type Found = {
  readonly key: Buffer | null
  readonly previousKey: Buffer | null
  /** Reads a key again. Throws the requirement that it fails. */
  readonly readAgain: (setting: KeySetting) => Buffer | null
}

/** Replaced keys that still decrypt until the process ends. */
const REPLACED_MAX = 3

/**
 * Follows keys from what was found at the start. A replaced key still decrypts, whether or not it is the previous key now:
 * so it does not matter which of the two files is written first.
 */
export const followKeysFrom =
  ({ key, previousKey, readAgain }: Found): FollowKeys =>
  (notify) => {
    const newestNow = followKey('SECRETS_KEY', key, readAgain, notify)
    const previousNow = followKey('SECRETS_KEY_PREVIOUS', previousKey, readAgain, notify)
    let newest = key
    let previous = previousKey
    let replaced: readonly Buffer[] = []
    let keys: SecretsKeys = { newest, older: present([previous]) }
    return () => {
      const lastNewest = newest
      const lastPrevious = previous
      newest = newestNow()
      previous = previousNow()
      if (newest === lastNewest && previous === lastPrevious) return keys
      if (newest !== lastNewest) replaced = present([lastNewest, ...replaced]).slice(0, REPLACED_MAX)
      keys = { newest, older: present([previous, ...replaced]) }
      return keys
    }
  }

/** One of the keys now: the same object until it is replaced. */
const followKey = (
  setting: KeySetting,
  first: Buffer | null,
  readAgain: Found['readAgain'],
  notify: Notify,
): (() => Buffer | null) => {
  let key = first
  let fault: string | null = null
  const refuse = (why: string): void => {
    if (why !== fault) notify({ setting, became: 'unusable', why })
    fault = why
  }
  const accept = (found: Buffer | null): void => {
    const isReplaced = found !== null && (key === null || !found.equals(key))
    if (isReplaced) {
      key = found
      notify({ setting, became: 'replaced' })
    } else if (fault !== null) {
      notify({ setting, became: 'usable' })
    }
    fault = null
  }
  return () => {
    try {
      accept(readAgain(setting))
    } catch (error) {
      refuse((error as Error).message)
    }
    return key
  }
}

const present = (keys: readonly (Buffer | null)[]): Buffer[] => keys.filter((key) => key !== null)
