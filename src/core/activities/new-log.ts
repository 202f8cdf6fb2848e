import type { RawJson } from '../../shapes/json.ts'
import { NewProspectLog, type ProspectLogReceipt } from '../../shapes/prospect-log.ts'
import { refuse } from '../engine/failures.ts'
import { keyOf, requestHashOf } from '../engine/keys.ts'
import { parseText, refuseFaults, SEE_ERRORS } from '../engine/parse-input.ts'
import { DAY_MS } from '../engine/times.ts'
import type { NewLog } from '../ports/activities.ts'
import type { Requester } from '../ports/events.ts'
import type { NewId, Timestamp } from '../ports/world.ts'

/** An activity to log. `payload.rawJson` is the text of a JSON object. */
export type NewActivity = Omit<NewProspectLog, 'payload'> &
  Requester & {
    readonly tenantId: string
    readonly payload: RawJson
    /** It came by a hook: it is logged even if it identifies no one. */
    readonly isVerified?: true
    /** It identifies no one, and belongs to the one prospect of its hook, who is named like the source. */
    readonly isShared?: true
  }
/** How much memory an activity takes, in characters. */
export const weightOf = ({ payload, email = '' }: NewActivity): number =>
  payload.rawJson.length + email.length

/** Parses the body of a request, an item of a batch or a line. Refuses `invalid_json` and `invalid_request`. */
export const parseActivity = (text: string, parsed?: unknown): Omit<NewActivity, 'tenantId'> => {
  const { body, faults } = parseText(NewProspectLog, text, parsed)
  return faults.length === 0 ? body : refuseFaults(faults, SEE_ERRORS)
}

/** The name that an activity has for its prospect; null if it is blank. */
export const nameIn = ({ isShared, source, name }: NewActivity): string | null => {
  const text = isShared ? source : name
  return text?.trim() ? text : null
}

/** A prospect as it was when an activity was stored all of whose identifiers led to it. */
export type RememberedProspect = {
  readonly prospectId: string
  readonly updatedAt: Timestamp
  readonly hasName: boolean
}
/** `remembered`: its prospect as found by `rememberProspects`. Such a prospect is not looked up. */
export type LocatedActivity = NewActivity & { readonly remembered?: RememberedProspect | undefined }

/** The activity with its idempotency key and request hash, if it has a key. */
export type KeyedActivity = ReturnType<typeof withKey>
export const withKey = (activity: LocatedActivity) => {
  const { tenantId, source, type, payload, prospectId, email, externalId, name, occurredAt, idempotencyKey } =
    activity
  if (idempotencyKey === undefined) return { ...activity, key: null, requestHash: null }
  // Fields added later are left out if they were not sent, so that the hashes of older requests stay the same.
  const added = externalId === undefined ? [occurredAt ?? []].flat() : [occurredAt, externalId]
  const fields = [type, prospectId, email, name, ...added]
  const key = keyOf(tenantId, source, idempotencyKey)
  return { ...activity, key, requestHash: requestHashOf(fields, payload) }
}

/** The log to store. Refuses as `occurredAtOf` does. */
export const newLog = (
  activity: KeyedActivity,
  prospectId: string,
  createdProspect: boolean,
  createdAt: Timestamp,
  newId: NewId,
  /** Its id must come after this one. */
  afterId?: string,
): NewLog => ({
  tenantId: activity.tenantId,
  apiKeyId: activity.apiKeyId,
  hops: activity.hops,
  prospectLogId: newId('prospectlog', afterId),
  prospectId,
  source: activity.source,
  type: activity.type,
  payload: activity.payload,
  email: activity.email ?? null,
  name: activity.name ?? null,
  externalId: activity.externalId ?? null,
  idempotencyKey: activity.idempotencyKey ?? null,
  requestHash: activity.requestHash,
  createdProspect,
  occurredAt: occurredAtOf(activity, createdAt),
  createdAt,
})

/** When it happened. Refuses `invalid_request` if that is more than a day ahead. */
export const occurredAtOf = ({ occurredAt = '' }: NewActivity, now: Timestamp): Timestamp => {
  if (occurredAt === '') return now
  if (Date.parse(occurredAt) <= Date.parse(now) + DAY_MS) return occurredAt
  const errors = [{ detail: 'must be at most 24 hours ahead', pointer: '/occurredAt' }]
  return refuse('invalid_request', 'The activity lies too far in the future.', { errors })
}

/** The fields of a log that a receipt shows, new or recalled. */
export type Logged = Pick<NewLog, keyof ProspectLogReceipt | 'requestHash'>
export const receiptOf = (log: Logged): ProspectLogReceipt => ({
  prospectId: log.prospectId,
  prospectLogId: log.prospectLogId,
  createdAt: log.createdAt,
  createdProspect: log.createdProspect,
  source: log.source,
  type: log.type,
})
