import type { StoredEvent } from '../ports/events.ts'
import type { SendWebhook, Webhook, WebhookAnswer } from '../ports/sending.ts'
import type { DeliveryResult, DueDelivery } from '../ports/webhooks.ts'
import type { Clock } from '../ports/world.ts'
import {
  deliveryAfter,
  deliveryUnsent,
  disabledReason,
  type Health,
  healthAfter,
  needsRest,
  restMsAsked,
  UNREAD,
  UNSENDABLE,
} from './webhook-attempts.ts'
import type { BodyWriter } from './webhook-body.ts'

/** Attempts in progress at a time for one endpoint. */
const IN_FLIGHT_MAX = 4
/** Rest after an address was refused: then any process may claim the endpoint; another one may have other settings. */
const REFUSED_MS = 10_000

/** Where the webhooks of an endpoint are sent, what they are signed with, and how their bodies are written. */
export type Target = Pick<Webhook, 'url' | 'method' | 'secrets' | 'headers'> & { readonly write: BodyWriter }
/** The results of a list of attempts, and their effect on the endpoint. */
export type SentList = {
  readonly results: readonly DeliveryResult[]
  readonly health: Health
  /** Why the endpoint must be disabled; null if it stays enabled. */
  readonly disabledReason: string | null
  /** How long it must rest because it asked for that, or because its address was refused. */
  readonly restMs: number
  /** Whether another list may follow at once. */
  readonly mayGoOn: boolean
}
type List = {
  readonly target: Target
  readonly due: readonly DueDelivery[]
  readonly health: Health
  readonly stop: AbortSignal
  /** Whether the claim still allows to start attempts. */
  readonly mayStart: () => boolean
}
type Deps = {
  readonly clock: Clock
  readonly send: SendWebhook
  readonly dataOf: (event: StoredEvent) => Promise<object>
  /** A number from 0 to 1. */
  readonly random: () => number
  readonly onError: (error: unknown) => void
}

/**
 * Sends due deliveries to one endpoint, a few at a time. Once an answer shows that the endpoint must rest or be disabled,
 * no other attempt is started. Bodies are written just before they are sent.
 */
export const listSender = ({ clock, send, dataOf, random, onError }: Deps) => {
  /** Makes one attempt. Null if the event cannot be read, mostly because the database is away. */
  const attempt = async (
    { write, ...to }: Target,
    event: StoredEvent,
    stop: AbortSignal,
  ): Promise<WebhookAnswer | null> => {
    const data = await dataOf(event).catch(onError)
    if (!data) return null
    const body = write(event, data)
    if (body === null) return UNSENDABLE
    const { eventId, ids } = event
    return send({ ...to, eventId, body, hops: (ids.hops ?? 0) + 1 }, stop)
  }

  const resultOf = (delivery: DueDelivery, answer: WebhookAnswer | null, nowMs: number): DeliveryResult =>
    answer === null || answer.isRefused
      ? deliveryUnsent(delivery, nowMs, answer?.error ?? UNREAD)
      : deliveryAfter(delivery, answer, nowMs, random())

  return async ({ target, due, stop, ...list }: List): Promise<SentList> => {
    const waiting = [...due]
    const results: DeliveryResult[] = []
    let health = list.health
    let reason: string | null = null
    let restMs = 0
    const mayGoOn = () => list.mayStart() && reason === null && restMs === 0 && !needsRest(health)

    const sendOne = async (delivery: DueDelivery): Promise<void> => {
      const answer = await attempt(target, delivery.event, stop)
      const wasStopped = stop.aborted && !answer?.status
      if (wasStopped) return
      const nowMs = clock()
      results.push(resultOf(delivery, answer, nowMs))
      if (answer === null || answer === UNSENDABLE) return
      health = healthAfter(health, answer, nowMs)
      reason ??= disabledReason(health, answer, nowMs)
      restMs = Math.max(restMs, answer.isRefused ? REFUSED_MS : restMsAsked(answer))
    }
    const sendSome = async (): Promise<void> => {
      let delivery = waiting.shift()
      while (delivery !== undefined) {
        await sendOne(delivery)
        delivery = mayGoOn() ? waiting.shift() : undefined
      }
    }

    await Promise.all(Array.from({ length: IN_FLIGHT_MAX }, sendSome))
    return { results, health, disabledReason: reason, restMs, mayGoOn: mayGoOn() }
  }
}
