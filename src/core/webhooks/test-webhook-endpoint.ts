import type { WebhookTest, WebhookTrial } from '../../shapes/webhook.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import { isoTime } from '../engine/times.ts'
import type { EventData } from '../events/event-data.ts'
import { eventOfLog } from '../events/new-event.ts'
import type { NewEvent } from '../ports/events.ts'
import type { Needs } from '../ports/store.ts'
import type { EndpointKey, StoredEndpoint } from '../ports/webhooks.ts'
import { existingEndpoint } from './get-webhook-endpoint.ts'
import { limitSlowCalls, refuseTooMany } from './limit-slow-calls.ts'
import { TOO_LARGE, UNSIGNED } from './webhook-attempts.ts'
import { bodyWriter } from './webhook-body.ts'
import { openForSending } from './webhook-headers.ts'
import type { WebhookTools } from './webhook-tools.ts'

type Deps = Needs<'webhooks' | 'events' | 'prospectLogs'> & {
  readonly webhookDataOf: EventData
  readonly webhooks: Pick<WebhookTools, 'secrets' | 'send'>
}

/**
 * Sends a webhook to an endpoint as the sender would, of an event, of an activity, or of an event to try it, and returns
 * the result with what was sent. No event and no delivery are stored.
 * Refuses `webhook_endpoint_not_found`, `event_not_found`, `prospect_log_not_found`, and `rate_limited` while too many
 * tests of the tenant, or of all tenants, are in flight.
 */
export const testWebhookEndpoint = ({ store, clock, newId, webhookDataOf, webhooks }: Deps) => {
  const limitTests = limitSlowCalls('tests')

  const sendTest = async (
    endpoint: StoredEndpoint,
    chosen: NewEvent | null,
    lost: AbortSignal,
  ): Promise<WebhookTest> => {
    const { tenantId, webhookEndpointId, url, method } = endpoint
    const nowMs = clock()
    const trial = {
      tenantId,
      eventId: newId('event'),
      type: 'webhook_endpoint.test',
      createdAt: isoTime(nowMs),
    }
    const event = chosen ?? trial
    const opened = openForSending(endpoint, nowMs, webhooks.secrets.open)
    const data = chosen === null ? { webhookEndpointId } : await webhookDataOf(chosen)
    const body = bodyWriter(endpoint)(event, data)
    if (opened === null) return unsent(method, UNSIGNED)
    if (body === null) return unsent(method, TOO_LARGE)
    const hops = (chosen?.ids.hops ?? 0) + 1
    const webhook = { url, method, ...opened, eventId: event.eventId, body, hops }
    const { status, error, ms, answer = null } = await webhooks.send(webhook, lost, false)
    if (lost.aborted && error !== null) refuseTooMany('tests')
    return {
      delivered: error === null,
      statusCode: status,
      durationMs: ms,
      error,
      answer,
      method,
      body: { rawJson: body },
    }
  }

  /** The event that the caller chose; null for one to try the endpoint. */
  const chosenEvent = async (tenantId: string, { eventId, prospectLogId }: WebhookTrial) => {
    if (eventId !== undefined && prospectLogId !== undefined)
      refuse('invalid_request', 'A test sends an event or an activity.', { errors: [NOT_BOTH] })
    if (eventId !== undefined) {
      const event = await store.events.find({ tenantId, eventId })
      return event ?? refuse('event_not_found', 'Event not found.')
    }
    if (prospectLogId === undefined) return null
    const log = await store.prospectLogs.find({ tenantId, prospectLogId })
    return eventOfLog(log ?? refuse('prospect_log_not_found', 'Prospect log not found.'))
  }

  return async ({
    eventId,
    prospectLogId,
    ...key
  }: EndpointKey & WebhookTrial): Promise<Result<WebhookTest>> => {
    const endpoint = await existingEndpoint(store, key)
    const { tenantId } = endpoint
    const event = await chosenEvent(tenantId, { eventId, prospectLogId })
    return { value: await limitTests(tenantId, (lost) => sendTest(endpoint, event, lost)) }
  }
}

const NOT_BOTH = { detail: 'must be absent if there is an eventId', pointer: '/prospectLogId' }

const unsent = (method: WebhookTest['method'], error: string): WebhookTest => ({
  delivered: false,
  statusCode: null,
  durationMs: 0,
  error,
  answer: null,
  method,
  body: null,
})
