import type { EventType } from '../shapes/event.ts'
import type { WebhookEndpoint, WebhookEndpointWithSecret } from '../shapes/webhook.ts'
import { call } from './api.ts'
import { shortUrl } from './attention.ts'
import { deliveryView } from './delivery.ts'
import { ask, gated, toCopy } from './dialog.ts'
import { h, rowLink, time } from './dom.ts'
import { endpointView } from './endpoint.ts'
import { EVENT_TYPES } from './event-types.ts'
import { area, field } from './fields.ts'
import { liveTable } from './live-table.ts'
import { addressOf, type View } from './place.ts'

/** Endpoints: the addresses that get events, whether events arrive, and remedies if not. */
export const view: View = (place, signal) => {
  const { id, subId } = place
  if (id && subId) return deliveryView(id, subId, signal)
  return id ? endpointView(id, place, signal) : listView(signal)
}

export const healthOf = ({ status, failures, disabledReason }: WebhookEndpoint) => {
  if (status === 'disabled') return h(disabledReason ? 'span.tag.bad' : 'span.tag', {}, 'disabled')
  return failures > 0 ? h('span.tag.bad', {}, 'failing') : h('span.tag.ok', {}, 'enabled')
}

const listView = async (signal: AbortSignal) => [
  h(
    'header',
    {},
    h('h1', {}, 'Webhooks'),
    h('div.actions', {}, gated('webhooks:write', 'New endpoint', create, { class: 'primary' })),
  ),
  await liveTable<WebhookEndpoint>({
    signal,
    path: '/webhook_endpoints',
    heads: ['Endpoint', 'State', 'Failures', 'Events'],
    none: 'An endpoint is an address of yours that gets every event, signed. Each is tried again until it arrives.',
    rowOf: (endpoint) => {
      const { webhookEndpointId, url, description, failures, failingSince, types } = endpoint
      return h(
        'tr',
        {},
        h('td', {}, rowLink(addressOf(['webhooks', webhookEndpointId]), shortUrl(url), description)),
        h('td', {}, healthOf(endpoint)),
        h('td', {}, failingSince && [`${failures} in a row, first `, time(failingSince, true)]),
        h('td', {}, types?.join(', ') ?? 'all events'),
      )
    },
  }),
]

export const secretShown = (secret: string) => [
  h('p', {}, 'The signing secret, shown only once. Your receiver needs it to verify deliveries:'),
  toCopy('Signing secret', secret),
]
export const endpointFields = (endpoint?: WebhookEndpoint) => [
  field('URL', 'url', { type: 'url', required: true, placeholder: 'https://', value: endpoint?.url }),
  h(
    'fieldset',
    {},
    h('legend', {}, 'Events (all if none is selected)'),
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
  area(
    'Only activities from these sources',
    'sources',
    listed(endpoint?.sources),
    'One per line; empty: all.',
  ),
  area('Only activities of these types', 'logTypes', listed(endpoint?.logTypes), 'One per line; empty: all.'),
  area(
    'Headers',
    'headers',
    { rows: 2, placeholder: 'authorization: Bearer …' },
    endpoint?.headers
      ? `Sent now: ${Object.keys(endpoint.headers).join(', ')}. Empty: they stay. Headers given here replace all of them.`
      : 'Sent with every webhook, one per line.',
  ),
  field('Note', 'description', { maxlength: 255, value: endpoint?.description }),
]
const listed = (list: readonly string[] | null = null) => ({ rows: 2, value: list?.join('\n') })
const linesOf = (text = ''): string[] | null => {
  const lines = text.split('\n').map((line) => line.trim())
  const some = lines.filter((line) => line !== '')
  return some.length > 0 ? some : null
}
export const chosenIn = (values: Readonly<Record<string, string>>) => {
  const { url, types = '', sources, logTypes, description } = values
  const names = types.split(' ').filter(Boolean) as EventType[]
  const headers = linesOf(values['headers'])?.map((line) => {
    const [name = '', ...value] = line.split(':')
    return [name.trim(), value.join(':').trim()]
  })
  return {
    ...{ url, types: names.length > 0 ? names : null, description: description || null },
    ...{ sources: linesOf(sources), logTypes: linesOf(logTypes) },
    ...(headers && { headers: Object.fromEntries(headers) }),
  }
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
