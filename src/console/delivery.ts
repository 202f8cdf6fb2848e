import type { WebhookDeliveryWithAttempts } from '../shapes/webhook-delivery.ts'
import { call, memberOf, path } from './api.ts'
import { copy } from './dialog.ts'
import { button, card, facts, h, table, time } from './dom.ts'
import { wordsOf } from './event-types.ts'
import { code, pretty } from './json-view.ts'
import { addressOf } from './place.ts'

/** One delivery: the receiver's responses to the last attempts, and the body. */
export const deliveryView = async (endpointId: string, eventId: string, signal: AbortSignal) => {
  const url = path`/webhook_endpoints/${endpointId}/deliveries/${eventId}`
  const { value, text } = await call<WebhookDeliveryWithAttempts>('GET', url, { signal })
  const { type, status, attempts, lastAttempts, nextAttemptAt, deliveredAt } = value
  const body = memberOf(text, 'body')
  const isSendable = value.body !== null
  const rows = lastAttempts.map(({ at, ms, status, error, answer }) =>
    h(
      'tr',
      {},
      h('td.when', {}, time(at, true)),
      h('td', {}, `${ms.toLocaleString('en')} ms`),
      h('td', {}, status ?? 'none'),
      h('td', {}, h('bdi', {}, error)),
      h('td.mono', {}, answer === null ? h('span.muted', {}, 'not kept') : h('bdi', {}, answer)),
    ),
  )
  return [
    h(
      'header',
      {},
      h('a.crumbs', { href: addressOf(['webhooks', endpointId]) }, 'Endpoint'),
      h('h1', {}, wordsOf(type)),
    ),
    card(
      facts({
        State: status,
        Attempts: h('span', {}, attempts),
        Next:
          nextAttemptAt && (Date.parse(nextAttemptAt) > Date.now() ? time(nextAttemptAt, true) : 'due now'),
        Delivered: deliveredAt && time(deliveredAt, true),
        Event: h('a', { href: addressOf(['events', eventId]) }, 'Open the event'),
      }),
    ),
    h('h2.label', {}, 'Last attempts, newest first'),
    card(
      rows.length > 0
        ? table(['When', 'Took', 'Status', 'Error', 'Answer'], rows)
        : h('p.muted.empty', {}, 'No attempts yet.'),
    ),
    h('h2.label', {}, 'Body, as it would be sent now'),
    card(
      isSendable
        ? code(pretty(body), 'Body')
        : h('p.bad', {}, 'It is larger than 256 KiB: the template inserts too much.'),
      h(
        'div.actions',
        {},
        button('Copy body', () => copy(body)),
      ),
    ),
  ]
}
