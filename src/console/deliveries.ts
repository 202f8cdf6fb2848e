import type { WebhookEndpoint } from '../shapes/webhook.ts'
import type { WebhookDelivery, WebhookDeliveryWithAttempts } from '../shapes/webhook-delivery.ts'
import { call, get, path, pollOf, type Query, type Slice } from './api.ts'
import {
  addressOf,
  bdi,
  card,
  counted,
  crumb,
  facts,
  h,
  type Place,
  refill,
  replaceAddress,
  rowLink,
  tag,
  time,
  when,
} from './dom.ts'
import { wordsOf } from './endpoint-form.ts'
import { loadMore, row, segments, table } from './lists.ts'
import type { LiveState } from './live-mark.ts'
import { gated, json, notify } from './notices.ts'
import { memberOf } from './raw.ts'

const STATUSES = { '': 'all', pending: 'pending', delivered: 'delivered', failed: 'failed' }

/** The deliveries of an endpoint by status: each can be sent again. */
export const deliveriesOf = (
  url: string,
  place: Place,
  signal: AbortSignal,
  endpointNow: () => WebhookEndpoint,
) => {
  let status = place.search.get('status') ?? ''
  let isLonger = false
  const list = h('div')
  const older = loadMore(async (cursor) => {
    const query = { limit: 50, status, cursor }
    const slice = await get<Slice<WebhookDelivery>>(`${url}/deliveries`, query, signal)
    isLonger = true
    list.querySelector('tbody')?.append(...slice.items.map(rowOf))
    return slice.nextCursor
  })
  let poll = pollOf<Slice<WebhookDelivery>>(`${url}/deliveries`)
  const retry = async ({ eventId }: WebhookDelivery) => {
    await call('POST', `${url}${path`/deliveries/${eventId}/retry`}`)
    // An endpoint that keeps failing rests between attempts: this ends its rest.
    if (endpointNow().failures > 0) await call('PATCH', url, { body: { status: 'enabled' } })
    notify('Sending again.')
    await reload()
  }
  const rowOf = (delivery: WebhookDelivery) => {
    const {
      eventId,
      type,
      status,
      attempts,
      nextAttemptAt,
      lastStatusCode,
      lastError,
      deliveredAt,
      createdAt,
    } = delivery
    const isDue = nextAttemptAt !== null && Date.parse(nextAttemptAt) <= Date.now()
    const kind = status === 'failed' ? 'bad' : status === 'delivered' ? 'ok' : 'warning'
    return row(
      when(createdAt),
      rowLink(addressOf(['webhooks', place.id ?? '', eventId]), wordsOf(type), type),
      tag(status, kind),
      [
        attempts > 0 ? counted(attempts, 'attempt') : 'none yet',
        attempts > 0 && lastStatusCode && `, last ${lastStatusCode}`,
      ],
      status === 'delivered'
        ? deliveredAt && time(deliveredAt)
        : bdi([lastError, ' ', isDue ? 'Due now.' : nextAttemptAt && ['Next attempt ', time(nextAttemptAt)]]),
      h(
        'td.end',
        status !== 'delivered' &&
          gated('webhooks:write', 'Send again', () => retry(delivery), { class: 'link' }),
      ),
    )
  }
  /** Reads the newest ones again; older ones that were loaded stay until the list is reloaded. */
  const refresh = async (): Promise<void> => {
    if (isLonger) return
    const query: Query = { limit: 50, status }
    const asked = poll
    const answer = await asked(query, signal)
    // An answer to a request from before another status was chosen is not shown any more.
    if (answer === null || asked !== poll) return
    older.follow(answer.value.nextCursor)
    const { items } = answer.value
    const none = h('p.muted.empty', 'No deliveries.')
    refill(
      list,
      items.length > 0
        ? table(['When', 'Event', 'State', 'Attempts', 'Outcome', ''], items.map(rowOf))
        : none,
    )
  }
  const reload = async (): Promise<void> => {
    isLonger = false
    poll = pollOf(`${url}/deliveries`)
    await refresh()
  }
  const choose = (chosen: string) => {
    status = chosen
    replaceAddress(['webhooks', place.id ?? ''], { status })
    void reload()
  }
  return {
    element: card(h('p', segments('State of the deliveries', STATUSES, status, choose)), list, older.element),
    refresh,
    /** Once older ones are loaded, the shown ones stay unchanged. */
    state: (): LiveState => (isLonger ? 'held' : 'live'),
  }
}

/** One delivery: the receiver's responses to the last attempts, and the body. */
export const deliveryView = async (endpointId: string, eventId: string, signal: AbortSignal) => {
  const url = path`/webhook_endpoints/${endpointId}/deliveries/${eventId}`
  const { value, text } = await call<WebhookDeliveryWithAttempts>('GET', url, { signal })
  const { type, status, attempts, lastAttempts, nextAttemptAt, deliveredAt } = value
  const rows = lastAttempts.map(({ at, ms, status, error, answer }) =>
    row(
      when(at),
      `${ms.toLocaleString('en')} ms`,
      status ?? 'none',
      bdi(error),
      answer === null ? h('span.muted', 'not kept') : h('bdi.mono', answer),
    ),
  )
  const isDue = nextAttemptAt && Date.parse(nextAttemptAt) <= Date.now()
  return [
    h('header', crumb('Endpoint', 'webhooks', endpointId), h('h1', wordsOf(type))),
    card(
      facts({
        State: status,
        Attempts: `${attempts}`,
        Next: isDue ? 'due now' : nextAttemptAt && time(nextAttemptAt),
        Delivered: deliveredAt && time(deliveredAt),
        Event: h('a', { href: addressOf(['events', eventId]) }, 'Open the event'),
      }),
    ),
    h('h2.label', 'Last attempts, newest first'),
    card(
      rows.length > 0
        ? table(['When', 'Took', 'Status', 'Error', 'Answer'], rows)
        : h('p.muted.empty', 'No attempts yet.'),
    ),
    h('h2.label', 'Body, as it would be sent now'),
    card(
      value.body !== null
        ? json('Body', memberOf(text, 'body'))
        : h('p.bad', 'Larger than 256 KiB: the template inserts too much.'),
    ),
  ]
}
