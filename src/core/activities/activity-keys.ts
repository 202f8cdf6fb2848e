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
 * A store keeps one log for each key in a scope. A key that is a hash of the body can be taken over, because the same body
 * is another message after a day. So each log that takes it over has another scope, which names the log before it:
 *
 *     first log    `scope`
 *     second log   `scope prospectlog_1`   the id of the first
 *     third log    `scope prospectlog_2`   the id of the second
 *
 * Of two logs that take the key over from the same one, the store refuses the second. Ids rise, and so do these scopes: the
 * newest log has the last one. Stores compare scopes as texts, byte by byte, and `~` comes after every id.
 */
export const scopesToLookUp = ({ keyScope = '', isKeyOfBody }: NewActivity) => ({
  keyScope,
  lastKeyScope: isKeyOfBody ? `${keyScope} ~` : keyScope,
})
/** The scope of a new log, which takes its key over from an earlier one if there is one. */
export const scopeOfNewLog = ({ keyScope = '' }: NewActivity, earlier: StoredReceipt | null): string =>
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
