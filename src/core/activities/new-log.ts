import type { Ignored } from '../../shapes/body.ts'
import type { RawJson } from '../../shapes/json.ts'
import { NewProspectLog, type ProspectLogReceipt } from '../../shapes/prospect-log.ts'
import { refuse } from '../engine/failures.ts'
import { type Named, requestHashOf } from '../engine/keys.ts'
import { parseText, refuseFaults, SEE_ERRORS } from '../engine/parse-input.ts'
import { DAY_MS } from '../engine/times.ts'
import type { NewLog } from '../ports/activities.ts'
import type { Requester } from '../ports/events.ts'
import type { NewId, Timestamp } from '../ports/world.ts'

/** An activity to log. `payload.rawJson` is the text of a JSON object. */
export type NewActivity = Omit<NewProspectLog, 'payload'> &
  Requester &
  Ignored & {
    readonly tenantId: string
    readonly payload: RawJson
    /** It came by a hook: it is logged even if it identifies no one. */
    readonly isVerified?: true
    /** It identifies no one, and belongs to the one prospect of its hook, who is named like the source. */
    readonly isShared?: true
    /** The id and the time for its log, made before, so that those of a batch are in order. */
    readonly reserved?: Pick<NewLog, 'prospectLogId' | 'createdAt'>
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

/** What makes two requests under one key the same. Source and key are the key. */
type SameRequest = Named<Omit<NewProspectLog, 'source' | 'payload' | 'idempotencyKey'>>

/** The hash of a request under an idempotency key; null without a key. */
export const requestHashIn = (activity: NewActivity): string | null => {
  if (activity.idempotencyKey === undefined) return null
  const { type, prospectId, email, externalId, name, occurredAt } = activity
  const same: SameRequest = { type, prospectId, email, externalId, name, occurredAt }
  return requestHashOf(same, activity.payload)
}

/** The log to store. Refuses as `occurredAtOf` does. */
export const newLog = (
  activity: NewActivity,
  prospectId: string,
  createdProspect: boolean,
  createdAt: Timestamp,
  newId: NewId,
  /** Its id must come after this one. */
  afterId: string | null,
): NewLog => ({
  tenantId: activity.tenantId,
  apiKeyId: activity.apiKeyId,
  hops: activity.hops,
  prospectLogId: reservedAfter(activity, afterId) ?? newId('prospectlog', afterId ?? undefined),
  prospectId,
  source: activity.source,
  type: activity.type,
  payload: activity.payload,
  email: activity.email ?? null,
  name: activity.name ?? null,
  externalId: activity.externalId ?? null,
  idempotencyKey: activity.idempotencyKey ?? null,
  requestHash: requestHashIn(activity),
  createdProspect,
  occurredAt: occurredAtOf(activity, createdAt),
  createdAt,
})

const reservedAfter = ({ reserved }: NewActivity, afterId: string | null): string | null =>
  reserved !== undefined && reserved.prospectLogId > (afterId ?? '') ? reserved.prospectLogId : null

/** When it happened. Refuses `invalid_request` if that is more than a day ahead. */
export const occurredAtOf = ({ occurredAt = '' }: NewActivity, now: Timestamp): Timestamp => {
  if (occurredAt === '') return now
  if (Date.parse(occurredAt) <= Date.parse(now) + DAY_MS) return occurredAt
  const errors = [{ detail: 'must be at most 24 hours ahead', pointer: '/occurredAt' }]
  return refuse('invalid_request', 'The activity lies too far in the future.', { errors })
}

/** The fields of a log that a receipt shows, new or recalled. */
export type Logged = Pick<NewLog, Exclude<keyof ProspectLogReceipt, 'ignored'>>
export const receiptOf = (log: Logged, { ignored }: Ignored): ProspectLogReceipt => ({
  prospectId: log.prospectId,
  prospectLogId: log.prospectLogId,
  createdAt: log.createdAt,
  createdProspect: log.createdProspect,
  source: log.source,
  type: log.type,
  ...(ignored && { ignored }),
})
