import { claimInTurns } from '../engine/claim-in-turns.ts'
import { callHook } from '../engine/outcome.ts'
import { isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { StoredEvent } from '../ports/events.ts'
import type { Needs } from '../ports/store.ts'
import type {
  ClaimedEndpoint,
  DeliveryResult,
  EndpointWant,
  Secrets,
  SendWebhook,
  Webhook,
} from '../ports/webhooks.ts'
import type { Recorded } from '../ports/world.ts'
import { lostClaims } from './lost-claims.ts'
import {
  deliveryAfter,
  deliveryUnsent,
  disabledReason,
  errorAt,
  type Health,
  healthAfter,
  needsRest,
  REST_MS,
  restMsAsked,
  UNREAD,
  UNSENDABLE,
  UNSIGNED,
} from './webhook-attempts.ts'
import { bodyWriter } from './webhook-body.ts'
import { openedOf } from './webhook-headers.ts'

/** Endpoints in progress at a time, so that many unresponsive ones hold up no other: with 80 KiB of bodies each, 40 MiB. */
const ENDPOINTS_MAX = 512
/** Deliveries claimed by one step: requests get the database in between. */
const CLAIMED_MAX = 64
const IN_FLIGHT_MAX = 4
const LIST_LENGTH_MAX = 32
const SWEEP_MAX = 500
/** A claim starts attempts for this long, so that changes of its endpoint count soon. */
const CLAIM_MS = 2_000
/** Rest after an address was refused: then any process may claim the endpoint; another one may have other settings. */
const REFUSED_MS = 10_000
/** Longer than a claim, one attempt and a few statements. */
const LEASE_MS = 45_000
/** Requests in flight may still create deliveries this long after an endpoint was deleted. They are swept before it is removed. */
const DELETED_MS = 60_000

/** Called if an endpoint begins to rest after failures, works again, or was disabled; with the last error or why. */
export type OnEndpoint = (
  endpoint: EndpointWant & Pick<ClaimedEndpoint, 'url'>,
  became: 'resting' | 'working' | 'disabled',
  why: string | null,
) => void
type Deps = Needs<'webhooks'> & {
  readonly send: SendWebhook
  readonly openSecret: Secrets['open']
  readonly dataOf: (event: StoredEvent) => Promise<object>
  /** A number from 0 to 1. */
  readonly random: () => number
  readonly onEndpoint: OnEndpoint
  /** Called between two lists for an endpoint, with the duration of the last: requests go first. */
  readonly rest: (tookMs: number, stop: AbortSignal) => Promise<void>
  /** Called for each error, mostly of the store. Its endpoint is claimed again once the store answers. */
  readonly onError: (error: unknown) => void
}

/**
 * Claims endpoints with due deliveries, and sends these: a few at a time to each endpoint, all endpoints independently
 * of each other. Bodies are rendered just before they are sent, and results are saved in lists.
 *
 * Each call is one step: it claims endpoints, and if those were all, waits until one is done or `woken` resolves. It
 * returns false once nothing is due or in progress. An attempt that `stop` ended does not count, and after `stop` no
 * other is made. Deliveries that were sent but could not be saved are sent again, under the same id.
 */
export const sendWebhooks = (deps: Deps) => {
  const { store, clock, newId, send, openSecret, dataOf, random } = deps
  const { webhooks } = store
  const inProgress = new Set<Promise<void>>()
  const lost = lostClaims(deps, LEASE_MS)
  const onError = (error: unknown) => callHook(() => deps.onError(error))

  const { claim } = claimInTurns(webhooks, { clock, leaseMs: LEASE_MS, restMsMax: REST_MS })

  const start = (endpoint: ClaimedEndpoint, stop: AbortSignal): void => {
    const endMs = clock() + CLAIM_MS
    const goesOn = () => !stop.aborted && clock() < endMs
    const work = endpoint.status === 'enabled' ? deliver(endpoint, stop, goesOn) : sweep(endpoint, goesOn)
    work.catch(() => lost.add(endpoint))
    track(work.catch(onError))
  }
  const track = (work: Promise<unknown>) => {
    const done: Promise<void> = work.then(() => void inProgress.delete(done))
    inProgress.add(done)
  }

  const sweep = async (endpoint: ClaimedEndpoint, goesOn: () => boolean): Promise<void> => {
    const isLast = clock() - Date.parse(endpoint.updatedAt) > DELETED_MS
    while ((await webhooks.sweep(endpoint, 'The endpoint was disabled.', SWEEP_MAX, isLast)) && goesOn());
  }

  /** Makes one attempt. Null if the event cannot be read, mostly because the database is away. */
  const attempt = async (
    { write, ...to }: Omit<Webhook, 'eventId' | 'body' | 'hops'> & { write: ReturnType<typeof bodyWriter> },
    event: StoredEvent,
    stop: AbortSignal,
  ) => {
    const data = await dataOf(event).catch(onError)
    if (!data) return null
    const { eventId, ids } = event
    const body = write(event, data)
    return body === null ? UNSENDABLE : send({ ...to, eventId, body, hops: (ids.hops ?? 0) + 1 }, stop)
  }

  /** Disables an endpoint unless it was changed in the meantime. */
  const disable = (endpoint: ClaimedEndpoint, disabledReason: string): Promise<Recorded> => {
    const { tenantId, webhookEndpointId } = endpoint
    const updatedAt = isoTime(clock())
    const event = newEvent(newId, 'webhook_endpoint.disabled', { tenantId }, { webhookEndpointId }, updatedAt)
    const disabled = { ...endpoint, status: 'disabled', disabledReason, updatedAt } as const
    return webhooks.change(disabled, endpoint.updatedAt, { event })
  }

  /** Its secrets or headers cannot be decrypted: its due deliveries get this error, and it rests. */
  const showUnsigned = async (endpoint: ClaimedEndpoint): Promise<void> => {
    const { tenantId, webhookEndpointId, failures, failingSince } = endpoint
    onError(new Error(`${webhookEndpointId}: ${UNSIGNED}`))
    const now = clock()
    const readAt = isoTime(now)
    const due = await webhooks.due({ tenantId, webhookEndpointId, now: readAt, max: SWEEP_MAX })
    const results = due.map((delivery) => deliveryUnsent(delivery, now, UNSIGNED))
    const lastError = errorAt(now, UNSIGNED, null)
    const claimableAt = isoTime(now + REST_MS)
    await webhooks.settle(endpoint, results, { failures, failingSince, lastError, claimableAt, readAt })
  }

  const deliver = async (endpoint: ClaimedEndpoint, stop: AbortSignal, goesOn: () => boolean) => {
    const { tenantId, webhookEndpointId, url, method, failures, failingSince, lastError } = endpoint
    const write = bodyWriter(endpoint)
    const opened = openedOf(endpoint, clock(), openSecret)
    if (opened === null) return showUnsigned(endpoint)
    let health: Health = { failures, failingSince, lastError }
    for (let isMoreLeft = true, isFirst = true; isMoreLeft; isFirst = false) {
      const before = health
      const max = needsRest(before) ? 1 : LIST_LENGTH_MAX
      const readMs = clock()
      const readAt = isoTime(readMs)
      const due = [...(await webhooks.due({ tenantId, webhookEndpointId, now: readAt, max }))]
      const isFull = due.length === max
      const results: DeliveryResult[] = []
      let reason: string | null = null
      // Its due delivery has lost its event, or another sender was faster: not claimed again at once.
      let restMs = isFirst && due.length === 0 ? CLAIM_MS : 0
      const mayStart = () => goesOn() && reason === null && restMs === 0 && !needsRest(health)
      const sendSome = async (): Promise<void> => {
        for (let next = due.shift(); next; next = mayStart() ? due.shift() : undefined) {
          const answer = await attempt({ url, method, write, ...opened }, next.event, stop)
          if (stop.aborted && !answer?.status) return
          const now = clock()
          const isSent = answer !== null && !answer.isRefused
          results.push(
            isSent
              ? deliveryAfter(next, answer, now, random())
              : deliveryUnsent(next, now, answer?.error ?? UNREAD),
          )
          if (answer === null || answer === UNSENDABLE) continue
          if (!isSent) restMs = REFUSED_MS
          health = healthAfter(health, answer, now)
          reason ??= disabledReason(health, answer, now)
          restMs = Math.max(restMs, restMsAsked(answer))
        }
      }
      await Promise.all(Array.from({ length: IN_FLIGHT_MAX }, sendSome))
      isMoreLeft = isFull && mayStart()
      if (needsRest(health)) restMs = REST_MS
      const claimableAt = isMoreLeft ? null : isoTime(clock() + restMs)
      if (!(await webhooks.settle(endpoint, results, { ...health, claimableAt, readAt }))) return
      const shown = { tenantId, webhookEndpointId, url }
      if (reason !== null && (await disable(endpoint, reason)) === 'recorded') {
        callHook(() => deps.onEndpoint(shown, 'disabled', reason))
      } else if (needsRest(before) !== needsRest(health)) {
        const became = needsRest(health) ? 'resting' : 'working'
        callHook(() => deps.onEndpoint(shown, became, results.at(-1)?.lastError ?? null))
      }
      if (isMoreLeft) await deps.rest(clock() - readMs, stop)
    }
  }

  return async (stop: AbortSignal, woken?: Promise<void>): Promise<boolean> => {
    const room = stop.aborted ? 0 : Math.min(CLAIMED_MAX, ENDPOINTS_MAX - inProgress.size)
    const claimed = room > 0 ? await claim(room) : []
    for (const endpoint of claimed) start(endpoint, stop)
    for (const lease of lost.giveBack()) track(lease)
    if (inProgress.size === 0) return false
    if (room > 0 && claimed.length === room) return true
    await Promise.race(woken ? [...inProgress, woken] : inProgress)
    return true
  }
}
