import { hash } from 'node:crypto'

/** One map key for several texts. Separated by NUL, which no stored text contains. */
export const keyOf = (...texts: readonly string[]): string => texts.join('\0')

/** SHA-256 in 43 URL-safe characters. */
export const sha256 = (text: string): string => hash('sha256', text, 'base64url')

/** Makes the value of a key once, when it is first requested. */
export const memoized = <Key, Value>(make: (key: Key) => Value): ((key: Key) => Value) => {
  const known = new Map<Key, Value>()
  return (key) => {
    const value = known.get(key)
    if (value !== undefined) return value
    const made = make(key)
    known.set(key, made)
    return made
  }
}
