import type { EventType } from '../shapes/event.ts'
import type { WebhookEndpoint, WebhookEndpointWithSecret } from '../shapes/webhook.ts'
import { call, repeated } from './api.ts'
import { shortUrl } from './attention.ts'
import { ask, gated, toCopy } from './dialog.ts'
import { card, h, refill, table, time } from './dom.ts'
import { endpointView } from './endpoint.ts'
import { EVENT_TYPES } from './event-types.ts'
import { field } from './fields.ts'
import { repeat } from './live.ts'
import { addressOf, type View } from './place.ts'

const POLL_MS = 2_000
type List = { readonly items: readonly WebhookEndpoint[] }

/** Endpoints: where events are sent to, whether they arrive, and what to do if not. */
export const view: View = (place, signal) =>
  place.id ? endpointView(place.id, place, signal) : listView(signal)

export const healthOf = ({ status, failures, disabledReason }: WebhookEndpoint) => {
  if (status === 'disabled') return h(disabledReason ? 'span.tag.bad' : 'span.tag', {}, 'disabled')
  return failures > 0 ? h('span.tag.bad', {}, 'failing') : h('span.tag.ok', {}, 'enabled')
}

const listView = async (signal: AbortSignal) => {
  const list = h('div')
  const poll = repeated<List>('/webhook_endpoints')
  const work = async (): Promise<void> => {
    const answer = await poll({}, signal)
    if (answer === null) return
    const rows = answer.value.items.map((endpoint) =>
      h(
        'tr',
        {},
        h(
          'td',
          {},
          h(
            'a',
            { href: addressOf(['webhooks', endpoint.webhookEndpointId]), 'data-row': true },
            h('b', {}, h('bdi', {}, shortUrl(endpoint.url))),
            endpoint.description && h('small', {}, h('bdi', {}, endpoint.description)),
          ),
        ),
        h('td', {}, healthOf(endpoint)),
        h(
          'td',
          {},
          endpoint.failures > 0 && [
            `${endpoint.failures} in a row, first `,
            endpoint.failingSince && time(endpoint.failingSince, true),
          ],
        ),
        h('td', {}, endpoint.types?.join(', ') ?? 'all events'),
      ),
    )
    const none = h(
      'p.muted.empty',
      {},
      'An endpoint is an address of yours that is told what happens: each event is sent, signed, and tried again until it arrives.',
    )
    refill(list, rows.length > 0 ? table(['Endpoint', 'State', 'Failures', 'Events'], rows) : none)
  }
  await repeat({ signal, ms: POLL_MS, work })
  return [
    h(
      'header',
      {},
      h('h1', {}, 'Webhooks'),
      h('div.actions', {}, gated('webhooks:write', 'New endpoint', create, { class: 'primary' })),
    ),
    card(list),
  ]
}

export const secretShown = (secret: string) => [
  h('p', {}, 'The signing secret, shown only now. Your receiver verifies with it:'),
  toCopy('Signing secret', secret),
]
export const endpointFields = (endpoint?: WebhookEndpoint) => [
  field('URL', 'url', { type: 'url', required: true, placeholder: 'https://', value: endpoint?.url }),
  h(
    'fieldset',
    {},
    h('legend', {}, 'Events; none ticked: all'),
    EVENT_TYPES.map((type) =>
      h(
        'label.check',
        {},
        h('input', {
          type: 'checkbox',
          name: 'types',
          value: type,
          checked: endpoint?.types?.includes(type),
        }),
        type,
      ),
    ),
  ),
  field('Note', 'description', { maxlength: 255, value: endpoint?.description }),
]
export const chosenIn = ({ url, types = '', description }: Readonly<Record<string, string>>) => {
  const names = types.split(' ').filter(Boolean) as EventType[]
  return { url, types: names.length > 0 ? names : null, description: description || null }
}
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
