import { canonicalJson } from '../../json/canonical-json.ts'
import type { RawJson } from '../../shapes/json.ts'
import { haveSameFields } from '../engine/keys.ts'
import { LONG_TEXT } from '../engine/parse-input.ts'
import { atOnce } from '../engine/share-loop.ts'
import { DAY_MS } from '../engine/times.ts'
import type { StoredReceipt } from '../ports/activities.ts'
import type { Store } from '../ports/store.ts'
import type { ShareLoop, Timestamp } from '../ports/world.ts'
import { type NewActivity, requestHashIn } from './new-log.ts'

/**
 * The first log under a key that is a hash of the body has the scope of the key. Each one that takes the key over has that
 * scope and the id of the log before it, so that only one can take it over, and the last of these scopes is that of the
 * newest log.
 */
export const scopesOf = ({ keyScope = '', isKeyOfBody }: NewActivity) => ({
  keyScope,
  lastKeyScope: isKeyOfBody ? `${keyScope} ~` : keyScope,
})
/** The scope of a new log whose key an earlier one has, if there is one. */
export const scopeAfter = ({ keyScope = '' }: NewActivity, earlier: StoredReceipt | null): string =>
  earlier === null ? keyScope : `${keyScope} ${earlier.prospectLogId}`

/** Whether a log lets its key go: the same body is another message after a day. */
export const isExpired = (
  { isKeyOfBody }: NewActivity,
  { createdAt }: StoredReceipt,
  now: Timestamp,
): boolean => isKeyOfBody === true && Date.parse(now) - Date.parse(createdAt) >= DAY_MS

/** A store that shows no logs compares payloads by their texts alone. */
type Deps = {
  readonly store: Partial<Pick<Store, 'prospectLogs'>>
  readonly shareLoop?: ShareLoop | undefined
}

/** Whether a stored request has the same fields, and a payload with another text and the same value. */
export const hasSameValue = async (
  activity: NewActivity,
  { tenantId, prospectLogId, requestHash }: StoredReceipt,
  { store, shareLoop = atOnce }: Deps,
): Promise<boolean> => {
  const newHash = requestHashIn(activity)
  if (store.prospectLogs === undefined || requestHash === null || newHash === null) return false
  if (!haveSameFields(requestHash, newHash)) return false
  const stored = await store.prospectLogs.find({ tenantId, prospectLogId })
  if (stored === null) return false
  const canonicalOf = async ({ rawJson }: RawJson): Promise<string> => {
    if (rawJson.length > LONG_TEXT) await shareLoop(tenantId, true)
    return canonicalJson(rawJson)
  }
  return (await canonicalOf(stored.payload)) === (await canonicalOf(activity.payload))
}
