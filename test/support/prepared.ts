import { DatabaseSync } from 'node:sqlite'
import type { Test } from 'tap'

/** The texts that SQLite is asked to prepare from now on, until the test ends. */
export const preparedFrom = (t: Test): Set<string> => {
  const seen = new Set<string>()
  const { prepare } = DatabaseSync.prototype
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, ...given: Parameters<typeof prepare>) {
    seen.add(given[0])
    return prepare.apply(this, given)
  }
  t.teardown(() => {
    DatabaseSync.prototype.prepare = prepare
  })
  return seen
}
