/** Makes the value of a key once, when it is first requested. */
export const memoized = <Key, Value>(make: (key: Key) => Value): ((key: Key) => Value) => {
  const made = new Map<Key, Value>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined) return known
    const value = make(key)
    made.set(key, value)
    return value
  }
}
