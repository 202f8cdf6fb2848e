import type { WebhookAttempt } from '../../shapes/webhook-delivery.ts'
import { DAY_MS, HOUR_MS, isoTime, MINUTE_MS } from '../engine/times.ts'
import type { WebhookAnswer } from '../ports/sending.ts'
import type { DeliveryResult, DueDelivery, StoredEndpoint } from '../ports/webhooks.ts'
import type { Timestamp } from '../ports/world.ts'

/** Pauses after the first failed attempt, the second, and so on. */
const RETRY_MS = [
  5_000,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
]
/** Each pause is shorter or longer by up to this share, at random. */
const SPREAD = 0.2
/** No schedule goes further: a later attempt was scheduled by a clock that was far ahead, and is due. */
export const latestAttemptAt = (now: Timestamp): Timestamp => isoTime(Date.parse(now) + 30 * HOUR_MS)
/** Attempts stored for each delivery: the last ones. */
export const ATTEMPTS_KEPT = 10
/** An endpoint that has failed this often in a row rests, and is then probed. */
export const FAILURES_UNTIL_REST = 5
export const REST_MS = MINUTE_MS
const FAILURES_UNTIL_DISABLED = 10
const FAILING_MS_MAX = 5 * DAY_MS

export type Health = Pick<StoredEndpoint, 'failures' | 'failingSince' | 'lastError'>

/** The state of a delivery after an attempt. `random` is from 0 to 1. */
export const deliveryAfter = (
  { event, attempts }: DueDelivery,
  { status: lastStatus, error: lastError, retryAfterMs, ms, answer = null }: WebhookAnswer,
  nowMs: number,
  random: number,
): DeliveryResult => {
  const tried: WebhookAttempt = { at: isoTime(nowMs - ms), ms, status: lastStatus, error: lastError, answer }
  const attempt = JSON.stringify(tried)
  const result = { eventId: event.eventId, attempts: attempts + 1, lastStatus, lastError, attempt }
  const ended = { ...result, nextAttemptAt: null, deliveredAt: null }
  if (lastError === null) return { ...ended, status: 'delivered', deliveredAt: isoTime(nowMs) }
  const retryMs = RETRY_MS[attempts]
  if (retryMs === undefined || isFinal(lastStatus, lastError)) return { ...ended, status: 'failed' }
  const pauseMs = Math.max(retryMs * (1 - SPREAD + 2 * SPREAD * random), retryAfterMs ?? 0)
  return { ...ended, status: 'pending', nextAttemptAt: isoTime(nowMs + pauseMs) }
}

/** Whether another attempt could only fail in the same way. */
const isFinal = (status: number | null, error: string): boolean =>
  status === GONE || status === LOOP || error === TOO_LARGE
const GONE = 410
/** A hook refuses every attempt: see `loopIn` in core/hooks/delivery.ts. */
const LOOP = 508

export const UNREAD = 'The service could not read the event.'
export const UNSIGNED =
  'The secret or a header cannot be decrypted. Restore SECRETS_KEY, or rotate the secret and set the headers again.'
/** A delivery that was not attempted, for a reason that is not the fault of its receiver. */
export const deliveryUnsent = (due: DueDelivery, nowMs: number, lastError: string): DeliveryResult => ({
  eventId: due.event.eventId,
  status: 'pending',
  attempts: due.attempts,
  attempt: null,
  nextAttemptAt: isoTime(nowMs + REST_MS),
  lastStatus: null,
  lastError,
  deliveredAt: null,
})

export const TOO_LARGE = 'The body would be larger than 256 KiB: the template inserts too much.'
/** The template of the endpoint made too much of the event: no request was sent. */
export const UNSENDABLE: WebhookAnswer = { status: null, error: TOO_LARGE, retryAfterMs: null, ms: 0 }

/** The health of an endpoint after an attempt. */
export const healthAfter = (
  { failures, failingSince }: Health,
  { error, status, isRefused }: WebhookAnswer,
  nowMs: number,
): Health =>
  error === null
    ? { failures: 0, failingSince: null, lastError: null }
    : {
        failures: failures + (isRefused ? 0 : 1),
        failingSince: failingSince ?? isoTime(nowMs),
        lastError: errorAt(nowMs, error, status),
      }

/** The last error of an endpoint, as stored. */
export const errorAt = (nowMs: number, reason: string, status: number | null): string =>
  JSON.stringify({ at: isoTime(nowMs), reason, status })

export const needsRest = ({ failures }: Health): boolean => failures >= FAILURES_UNTIL_REST

/** How long an endpoint rests at its request. */
export const restMsAsked = ({ status, retryAfterMs }: WebhookAnswer): number =>
  status === 429 || status === 503 ? Math.min(retryAfterMs ?? 0, REST_MS) : 0

/** Why an endpoint is disabled after an attempt; null if it is not. */
export const disabledReason = (
  { failures, failingSince }: Health,
  { status, isRefused }: WebhookAnswer,
  nowMs: number,
): string | null => {
  if (status === GONE) return 'The endpoint answered 410 Gone.'
  const isLasting = failingSince !== null && nowMs - Date.parse(failingSince) >= FAILING_MS_MAX
  return isLasting && (isRefused || failures >= FAILURES_UNTIL_DISABLED)
    ? 'Nothing could be delivered for 5 days.'
    : null
}
