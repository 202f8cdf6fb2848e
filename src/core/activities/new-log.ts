import { canonicalJson } from '../../json/canonical-json.ts'
import type { AttributesMode } from '../../shapes/attributes.ts'
import type { Ignored } from '../../shapes/body.ts'
import type { RawJson } from '../../shapes/json.ts'
import { NewProspectLog, type ProspectLogReceipt } from '../../shapes/prospect-log.ts'
import { refuse } from '../engine/failures.ts'
import { type Named, requestHashOf } from '../engine/keys.ts'
import { parseText, refuseFaults, SEE_ERRORS } from '../engine/parse-input.ts'
import { DAY_MS } from '../engine/times.ts'
import type { NewLog } from '../ports/activities.ts'
import type { Requester } from '../ports/events.ts'
import type { Timestamp } from '../ports/world.ts'

/** An activity to log. `payload.rawJson` is the text of a JSON object. */
export type NewActivity = Omit<NewProspectLog, 'payload'> &
  Requester &
  Ignored & {
    readonly tenantId: string
    readonly payload: RawJson
    /** By default attributes fill blanks alone. */
    readonly attributesMode?: AttributesMode | undefined
    /**
     * Set if a hook delivered it: it is logged even if it identifies no one, and whatever comes under a known key is a replay.
     */
    readonly isVerified?: true
    /** What a key that a hook maps belongs to besides the source. The same key of another scope is another key. */
    readonly keyScope?: string
    /** Set if the key is a hash of the body: the same body a day later is another activity. */
    readonly isKeyOfBody?: true
    /** Set if it identifies no one and belongs to the one prospect of its hook, who is named like the source. */
    readonly isShared?: true
    /** Set if it is refused, even as a replay, unless it identifies someone. */
    readonly mustIdentify?: true
    /** The id and the time of its log, made in advance so that those of a batch are in order. */
    readonly reserved?: Pick<NewLog, 'prospectLogId' | 'createdAt'>
  }
/** How much memory an activity takes, in characters. */
export const weightOf = ({ payload, email = '', attributes }: NewActivity): number =>
  payload.rawJson.length + email.length + (attributes?.rawJson.length ?? 0)

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

/** The fields that two requests under one key must share. Source and idempotency key are that key. */
type SameRequest = Named<
  Omit<NewProspectLog, 'source' | 'payload' | 'idempotencyKey' | 'attributes'> & {
    /** Whatever the order of their members is. */
    readonly attributes?: string
  }
>

/** The hash of a request under an idempotency key; null without a key. */
export const requestHashIn = (activity: NewActivity): string | null => {
  if (activity.idempotencyKey === undefined) return null
  const { type, prospectId, email, externalId, name, occurredAt, attributes: sent } = activity
  const attributes = sent && canonicalJson(sent.rawJson)
  const same: SameRequest = { type, prospectId, email, externalId, name, occurredAt, attributes }
  return requestHashOf(same, activity.payload)
}

/** The log to store. */
export const newLog = (
  activity: NewActivity,
  made: Pick<NewLog, 'prospectLogId' | 'prospectId' | 'createdProspect' | 'createdAt' | 'keyScope'>,
): NewLog => ({
  tenantId: activity.tenantId,
  apiKeyId: activity.apiKeyId,
  hops: activity.hops,
  prospectLogId: made.prospectLogId,
  prospectId: made.prospectId,
  source: activity.source,
  type: activity.type,
  payload: activity.payload,
  email: activity.email ?? null,
  name: activity.name ?? null,
  externalId: activity.externalId ?? null,
  idempotencyKey: activity.idempotencyKey ?? null,
  keyScope: made.keyScope,
  requestHash: requestHashIn(activity),
  createdProspect: made.createdProspect,
  occurredAt: activity.occurredAt || made.createdAt,
  createdAt: made.createdAt,
})

/** The reserved id and time, if the id comes after the logs that are already counted. */
export const reservationAfter = (
  { reserved }: NewActivity,
  countedId: string | null,
): NewActivity['reserved'] =>
  reserved !== undefined && reserved.prospectLogId > (countedId ?? '') ? reserved : undefined

/** Refuses `invalid_request` for an activity that happened more than a day ahead. */
export const requirePlausibleTime = ({ occurredAt }: NewActivity, now: Timestamp): void => {
  if (!occurredAt || Date.parse(occurredAt) <= Date.parse(now) + DAY_MS) return
  const errors = [{ detail: 'must be at most 24 hours ahead', pointer: '/occurredAt' }]
  refuse('invalid_request', 'The activity lies too far in the future.', { errors })
}

/** The fields of a log that a receipt shows, new or recalled. */
export type Logged = Pick<NewLog, Exclude<keyof ProspectLogReceipt, 'ignored'>>
export const receiptOf = (log: Logged, ignored: readonly string[] | undefined): ProspectLogReceipt => ({
  prospectId: log.prospectId,
  prospectLogId: log.prospectLogId,
  createdAt: log.createdAt,
  createdProspect: log.createdProspect,
  source: log.source,
  type: log.type,
  ...(ignored && { ignored: [...ignored] }),
})
