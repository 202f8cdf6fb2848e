import type { EventType } from '../shapes/event.ts'
import type { WebhookEndpoint } from '../shapes/webhook.ts'
import { toCopy } from './dialog.ts'
import { h } from './dom.ts'
import { EVENT_TYPES, wordsOf } from './event-types.ts'
import { area, field } from './fields.ts'

export const healthOf = ({ status, lastError, disabledReason }: WebhookEndpoint) => {
  if (status === 'disabled') return h(disabledReason ? 'span.tag.bad' : 'span.tag', {}, 'disabled')
  return lastError ? h('span.tag.bad', {}, 'failing') : h('span.tag.ok', {}, 'enabled')
}

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
        h('span', {}, wordsOf(type), h('small', {}, type)),
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
