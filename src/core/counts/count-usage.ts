import { HOUR_MS, isoTime, MINUTE_MS } from '../engine/times.ts'
import type { Used } from '../ports/counts.ts'
import type { Needs } from '../ports/store.ts'

export const USAGE_KEPT_MS = 48 * HOUR_MS
/** Keys counted in one minute. Later ones are not counted: a client that floods the service is among the first. */
const KEYS_MAX = 5_000

/**
 * Counts in memory the usage of API keys and hooks. `save`, once a minute, adds it to that minute in the store. Usage
 * that could not be saved counts for the next minute. A process that is killed loses it. Without usage it saves once an
 * hour, which removes old minutes.
 */
export const countUsage = ({ store: { counts }, clock }: Omit<Needs<'counts'>, 'newId'>) => {
  const keys = new Map<string, Used>()
  let lastSavedMs = Number.NEGATIVE_INFINITY
  const add = (used: Used): void => {
    if (keys.size < KEYS_MAX || keys.has(used.apiKeyId)) addUsed(keys, used.apiKeyId, used)
  }
  const save = async (): Promise<false> => {
    const now = clock()
    if (keys.size === 0 && Math.abs(now - lastSavedMs) < HOUR_MS) return false
    // More minutes than one save adds, so that none are left over.
    const remove = { before: isoTime(now - USAGE_KEPT_MS), after: isoTime(now + HOUR_MS), max: 2 * KEYS_MAX }
    const used = [...keys.values()]
    keys.clear()
    await counts.addUsage(isoTime(now - (now % MINUTE_MS)), used, remove).catch((error) => {
      used.forEach(add)
      throw error
    })
    lastSavedMs = now
    return false
  }
  return { add, save }
}

/** Adds to the usage counted under this name. */
export const addUsed = <Sum extends Used>(all: Map<string, Sum>, name: string, used: Sum): void => {
  const known = all.get(name)
  if (known === undefined) {
    all.set(name, used)
    return
  }
  known.requests += used.requests
  known.activities += used.activities
  known.bytes += used.bytes
}
