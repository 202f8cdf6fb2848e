import type { WebhookEndpoint, WebhookEndpointWithSecret } from '../shapes/webhook.ts'
import { call } from './api.ts'
import { shortUrl } from './attention.ts'
import { connect } from './connect.ts'
import { deliveryView } from './delivery.ts'
import { ask, gated } from './dialog.ts'
import { h, rowLink, time } from './dom.ts'
import { endpointView } from './endpoint.ts'
import { chosenIn, endpointFields, healthOf, secretShown } from './endpoint-form.ts'
import { wordsOf } from './event-types.ts'
import { liveTable } from './live-table.ts'
import { addressOf, type View } from './place.ts'

/** Endpoints: the addresses that get events, whether events arrive, and remedies if not. */
export const view: View = (place, signal) => {
  const { id, subId } = place
  if (id && subId) return deliveryView(id, subId, signal)
  return id ? endpointView(id, place, signal) : listView(signal)
}

const listView = async (signal: AbortSignal) => [
  h(
    'header',
    {},
    h('h1', {}, 'Webhooks'),
    h(
      'div.actions',
      {},
      gated('webhooks:write', 'New endpoint', create),
      gated('webhooks:write', 'Connect a receiver', connect, { class: 'primary' }),
    ),
  ),
  await liveTable<WebhookEndpoint>({
    signal,
    path: '/webhook_endpoints',
    heads: ['Endpoint', 'State', 'Last error', 'Events'],
    none: 'Connect HubSpot, Slack, Brevo or any other receiver, and each new activity is sent there. An endpoint is an address of yours that gets every event, signed. Each is tried again until it arrives.',
    rowOf: (endpoint) => {
      const { webhookEndpointId, url, description, lastError, types } = endpoint
      return h(
        'tr',
        {},
        h('td', {}, rowLink(addressOf(['webhooks', webhookEndpointId]), shortUrl(url), description)),
        h('td', {}, healthOf(endpoint)),
        h('td', {}, lastError && [time(lastError.at, true), ': ', h('bdi', {}, lastError.reason)]),
        h('td', {}, types?.map(wordsOf).join(', ') ?? 'all events'),
      )
    },
  }),
]

const create = (): void =>
  ask({
    title: 'New endpoint',
    action: 'Create',
    body: endpointFields(),
    run: async (values) => {
      const { value } = await call<WebhookEndpointWithSecret>('POST', '/webhook_endpoints', {
        body: chosenIn(values),
      })
      location.hash = addressOf(['webhooks', value.webhookEndpointId])
      return secretShown(value.secret)
    },
  })
