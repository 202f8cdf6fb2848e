import type { EventType } from '../shapes/event.ts'
import type { WebhookEndpoint } from '../shapes/webhook.ts'
import { area, field, linesOf, tick } from './dialog.ts'
import { bdi, type Child, h, tag } from './dom.ts'
import { toCopy } from './notices.ts'

/** The events in words. */
const WORDS: Readonly<Record<EventType, string>> = {
  'prospect.created': 'A person was created',
  'prospect.updated': 'A person was changed',
  'prospect.merged': 'Two people were merged',
  'prospect.erased': 'A person was erased',
  'prospect_log.created': 'An activity arrived',
  'page_group.created': 'A page group was created',
  'page_group.updated': 'A page group was changed',
  'page_group.deleted': 'A page group was deleted',
  'page.created': 'A page was created',
  'page.updated': 'A page was changed',
  'page.deleted': 'A page was deleted',
  'page.unpublished': 'A page was unpublished',
  'page_version.ready': 'A version is ready',
  'page_version.scheduled': 'A version was scheduled',
  'page_version.published': 'A version was published',
  'page_version.skipped': 'A version was not published in time',
  'page_version.failed': 'A version failed',
  'webhook_endpoint.disabled': 'An endpoint was disabled',
}
export const EVENT_TYPES = Object.keys(WORDS) as readonly EventType[]
export const wordsOf = (type: EventType): string => WORDS[type] ?? type

/** What an endpoint gets: the activities of its sources, or events. */
export const whatIsSent = ({ types, sources, logTypes }: WebhookEndpoint): Child => {
  if (types === null) return 'all events'
  if (types.some((type) => type !== 'prospect_log.created')) return types.map(wordsOf).join(', ')
  const from = sources ? ['activities of ', bdi(sources.join(', '))] : 'all activities'
  return [from, logTypes && [', only ', bdi(logTypes.join(', '))]]
}

export const healthOf = ({ status, lastError, disabledReason }: WebhookEndpoint) => {
  if (status === 'disabled') return tag('disabled', disabledReason ? 'bad' : '')
  return lastError ? tag('failing', 'bad') : tag('enabled', 'ok')
}

/** A new signing secret, to copy. */
export const secretToCopy = (secret: string) => [
  h('p', 'The signing secret, shown only once. Your receiver needs it to verify deliveries:'),
  toCopy('Signing secret', secret),
]

export const endpointFields = (endpoint?: WebhookEndpoint) => [
  field('URL', 'url', { type: 'url', required: true, placeholder: 'https://', value: endpoint?.url }),
  h(
    'fieldset',
    h('legend', 'Events (all if none is selected)'),
    EVENT_TYPES.map((type) =>
      tick('types', h('span', wordsOf(type), h('small', type)), {
        value: type,
        checked: endpoint?.types?.includes(type),
      }),
    ),
  ),
  area(
    'Only activities from these sources',
    'sources',
    linesField(endpoint?.sources),
    'One per line; empty: all.',
  ),
  area(
    'Only activities of these types',
    'logTypes',
    linesField(endpoint?.logTypes),
    'One per line; empty: all.',
  ),
  area(
    'Headers',
    'headers',
    { rows: 2, placeholder: 'authorization: Bearer …' },
    endpoint?.headers
      ? `Sent now: ${Object.keys(endpoint.headers).join(', ')}. Leave empty to keep them.`
      : 'Sent with every webhook, one per line.',
  ),
  field('Note', 'description', { maxlength: 255, value: endpoint?.description }),
]

/** The attributes of an area with one value in each line. */
const linesField = (list: readonly string[] | null = null) => ({ rows: 2, value: list?.join('\n') })

/** The body of a request that creates or changes an endpoint. Headers left empty stay unchanged. */
export const endpointOf = (values: Readonly<Record<string, string>>) => {
  const { url, types = '', sources, logTypes, headers, description } = values
  const headerLines = linesOf(headers)
  return {
    url,
    types: nullIfEmpty(types.split(' ').filter(Boolean) as EventType[]),
    description: description || null,
    sources: nullIfEmpty(linesOf(sources)),
    logTypes: nullIfEmpty(linesOf(logTypes)),
    headers: headerLines.length > 0 ? Object.fromEntries(headerLines.map(headerIn)) : undefined,
  }
}

/** To the API, null means all. */
const nullIfEmpty = <T>(list: readonly T[]) => (list.length > 0 ? list : null)

const headerIn = (line: string): readonly [name: string, value: string] => {
  const [name = '', ...value] = line.split(':')
  return [name.trim(), value.join(':').trim()]
}
