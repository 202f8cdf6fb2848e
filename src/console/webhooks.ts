import type { WebhookEndpoint, WebhookEndpointWithSecret } from '../shapes/webhook.ts'
import { call } from './api.ts'
import { nameOf, shortUrl, whyFailing } from './attention.ts'
import { deliveryView } from './deliveries.ts'
import { openForm } from './dialog.ts'
import { actions, addressOf, goTo, h, replaceAddress, rowLink, type View } from './dom.ts'
import { endpointView } from './endpoint.ts'
import { endpointFields, endpointOf, healthOf, secretToCopy, whatIsSent } from './endpoint-form.ts'
import { liveTable, row } from './lists.ts'
import { gated } from './notices.ts'
import { isReceiverName, RECEIVERS, type ReceiverName } from './receivers.ts'
import { sendTo } from './send-to.ts'

/**
 * Everything that activities and other events are sent to; one of these endpoints; or one delivery. An address with
 * `connect` asks for a new one at once.
 */
export const view: View = (place, signal) => {
  const { id, subId, search } = place
  if (id && subId) return deliveryView(id, subId, signal)
  if (id) return endpointView(id, place, signal)
  const connect = search.get('connect')
  if (connect !== null) {
    replaceAddress(['webhooks'], {})
    void sendTo(isReceiverName(connect) ? connect : 'hubspot', search.get('source') ?? undefined)
  }
  return listView(signal)
}

const listView = async (signal: AbortSignal) => [
  h(
    'header',
    h(
      'div',
      h('h1', 'CRM & webhooks'),
      h('p.lead.muted', 'Where new people and activities are sent, within seconds.'),
    ),
    actions(
      gated('webhooks:write', 'New webhook', create),
      gated('webhooks:write', 'Send to a CRM', () => sendTo('hubspot'), { class: 'primary' }),
    ),
  ),
  await liveTable<WebhookEndpoint>({
    signal,
    path: '/webhook_endpoints',
    heads: ['Sent to', 'What', 'State', 'Last problem'],
    none: noneYet(),
    rowOf: (endpoint) => {
      const { webhookEndpointId, url, description } = endpoint
      return row(
        rowLink(addressOf(['webhooks', webhookEndpointId]), nameOf(endpoint), description && shortUrl(url)),
        whatIsSent(endpoint),
        healthOf(endpoint),
        whyFailing(endpoint),
      )
    },
  }),
]

const noneYet = () => {
  const names = Object.keys(RECEIVERS) as ReceiverName[]
  const buttons = names.map((name) =>
    gated('webhooks:write', `Send to ${RECEIVERS[name].name}`, () => sendTo(name)),
  )
  return [
    h('p', 'Nothing is sent anywhere yet. Where should new people go?'),
    actions(buttons),
    h('p.muted', 'What cannot be delivered is tried again for three days.'),
  ]
}

/** An endpoint of a program, which gets events as they are. */
const create = (): void =>
  openForm({
    title: 'New webhook',
    action: 'Create',
    body: endpointFields(),
    run: async (values) => {
      const body = endpointOf(values)
      const { value } = await call<WebhookEndpointWithSecret>('POST', '/webhook_endpoints', { body })
      goTo(['webhooks', value.webhookEndpointId])
      return secretToCopy(value.secret)
    },
  })
