import { callListener } from '../engine/call-listener.ts'
import { claimFairly } from '../engine/claim-fairly.ts'
import { isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { StoredEvent } from '../ports/events.ts'
import type { Secrets } from '../ports/secrets.ts'
import type { SendWebhook } from '../ports/sending.ts'
import type { Needs } from '../ports/store.ts'
import type { ClaimedEndpoint, EndpointKey } from '../ports/webhooks.ts'
import type { Recorded } from '../ports/world.ts'
import { lostClaims } from './lost-claims.ts'
import { listSender, type SentList } from './send-list.ts'
import { deliveryUnsent, errorAt, type Health, needsRest, REST_MS, UNSIGNED } from './webhook-attempts.ts'
import { bodyWriter } from './webhook-body.ts'
import { openForSending } from './webhook-headers.ts'

/** Endpoints in progress at a time, so that many unresponsive ones hold up no other: with 80 KiB of bodies each, 40 MiB. */
const ENDPOINTS_MAX = 512
/** Deliveries claimed by one step: requests get the database in between. */
const CLAIMED_MAX = 64
const LIST_LENGTH_MAX = 32
const SWEEP_MAX = 500
/** A claim starts attempts for this long, so that changes of its endpoint count soon. */
const CLAIM_MS = 2_000
/** Longer than a claim, one attempt and a few statements. */
const LEASE_MS = 45_000
/** So long after an endpoint was deleted, requests in flight may still create deliveries. A sweep removes them first. */
const DELETED_MS = 60_000

/** Called if an endpoint begins to rest after failures, works again, or was disabled; with the last error or why. */
export type OnEndpoint = (
  endpoint: EndpointKey & Pick<ClaimedEndpoint, 'url'>,
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
  /** Called between two lists for an endpoint, with the duration of the last: waits while requests get their turn. */
  readonly yieldToRequests: (tookMs: number, stop: AbortSignal) => Promise<void>
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
  const onError = (error: unknown) => callListener(() => deps.onError(error))
  const { claim } = claimFairly(webhooks, { clock, leaseMs: LEASE_MS, restMsMax: REST_MS })
  const sendList = listSender({ clock, send, dataOf, random, onError })

  const start = (endpoint: ClaimedEndpoint, stop: AbortSignal): void => {
    const endMs = clock() + CLAIM_MS
    const mayStart = () => !stop.aborted && clock() < endMs
    const work = endpoint.status === 'enabled' ? deliver(endpoint, stop, mayStart) : sweep(endpoint, mayStart)
    work.catch(() => lost.add(endpoint))
    track(work.catch(onError))
  }
  const track = (work: Promise<unknown>) => {
    const done: Promise<void> = work.then(() => void inProgress.delete(done))
    inProgress.add(done)
  }

  /** Ends the deliveries of an endpoint that is disabled or deleted. */
  const sweep = async (endpoint: ClaimedEndpoint, mayStart: () => boolean): Promise<void> => {
    const isLast = clock() - Date.parse(endpoint.updatedAt) > DELETED_MS
    let mayBeMore = true
    while (mayBeMore) {
      const isMoreLeft = await webhooks.sweep(endpoint, 'The endpoint was disabled.', SWEEP_MAX, isLast)
      mayBeMore = isMoreLeft && mayStart()
    }
  }

  /** Sends the due deliveries of an enabled endpoint, list by list. */
  const deliver = async (
    endpoint: ClaimedEndpoint,
    stop: AbortSignal,
    mayStart: () => boolean,
  ): Promise<void> => {
    const { tenantId, webhookEndpointId, url, method } = endpoint
    const opened = openForSending(endpoint, clock(), openSecret)
    if (opened === null) return showUnsigned(endpoint)
    const target = { url, method, ...opened, write: bodyWriter(endpoint) }
    const { failures, failingSince, lastError } = endpoint
    let health: Health = { failures, failingSince, lastError }
    let isFirst = true
    let isMoreLeft = true
    while (isMoreLeft) {
      const readMs = clock()
      const max = needsRest(health) ? 1 : LIST_LENGTH_MAX
      const due = await webhooks.due({ tenantId, webhookEndpointId, now: isoTime(readMs), max })
      const sent = await sendList({ target, due, health, stop, mayStart })
      isMoreLeft = due.length === max && sent.mayGoOn
      // The due delivery has lost its event, or another sender was faster: the endpoint is not claimed again at once.
      const hadNothingDue = isFirst && due.length === 0
      const restMs = isMoreLeft ? null : restMsAfter(sent, hadNothingDue)
      if (!(await settleList(endpoint, sent, readMs, restMs))) return
      await reportHealth(endpoint, health, sent)
      if (isMoreLeft) await deps.yieldToRequests(clock() - readMs, stop)
      health = sent.health
      isFirst = false
    }
  }

  /** Saves results and health. Without a rest, the claim goes on. Returns false if another sender has claimed the endpoint. */
  const settleList = (
    endpoint: ClaimedEndpoint,
    { results, health }: SentList,
    readMs: number,
    restMs: number | null,
  ): Promise<boolean> => {
    const claimableAt = restMs === null ? null : isoTime(clock() + restMs)
    return webhooks.settle(endpoint, results, { ...health, claimableAt, readAt: isoTime(readMs) })
  }

  /** Disables the endpoint if a list showed that it must be, and calls the listener if its health has changed. */
  const reportHealth = async (
    endpoint: ClaimedEndpoint,
    before: Health,
    { results, health, disabledReason }: SentList,
  ): Promise<void> => {
    const { tenantId, webhookEndpointId, url } = endpoint
    const shown = { tenantId, webhookEndpointId, url }
    if (disabledReason !== null && (await disable(endpoint, disabledReason)) === 'recorded') {
      callListener(() => deps.onEndpoint(shown, 'disabled', disabledReason))
    } else if (needsRest(before) !== needsRest(health)) {
      const became = needsRest(health) ? 'resting' : 'working'
      callListener(() => deps.onEndpoint(shown, became, results.at(-1)?.lastError ?? null))
    }
  }

  /** Disables an endpoint unless it was changed in the meantime. */
  const disable = (endpoint: ClaimedEndpoint, disabledReason: string): Promise<Recorded> => {
    const { tenantId, webhookEndpointId } = endpoint
    const updatedAt = isoTime(clock())
    const event = newEvent(newId, {
      type: 'webhook_endpoint.disabled',
      sender: { tenantId },
      ids: { webhookEndpointId },
      createdAt: updatedAt,
    })
    const disabled = { ...endpoint, status: 'disabled', disabledReason, updatedAt } as const
    return webhooks.change(disabled, endpoint.updatedAt, { event })
  }

  /** The secrets or headers cannot be decrypted: the due deliveries get this error, and the endpoint rests. */
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

/** How long an endpoint rests after its last list. */
const restMsAfter = ({ health, restMs }: SentList, hadNothingDue: boolean): number => {
  if (needsRest(health)) return REST_MS
  return hadNothingDue ? CLAIM_MS : restMs
}
