import type { WebhookEndpoint } from '../shapes/webhook.ts'
import type { WebhookDelivery } from '../shapes/webhook-delivery.ts'
import { call, get, path, type Query, repeated, type Slice } from './api.ts'
import { attempt, gated, loadMore, notify } from './dialog.ts'
import { card, counted, h, refill, rowLink, segments, table, time } from './dom.ts'
import { wordsOf } from './event-types.ts'
import { addressOf, type Place, replaceAddress } from './place.ts'

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
  let poll = repeated<Slice<WebhookDelivery>>(`${url}/deliveries`)
  const retry = ({ eventId }: WebhookDelivery) =>
    attempt(async () => {
      await call('POST', `${url}${path`/deliveries/${eventId}/retry`}`)
      // An endpoint that keeps failing rests between attempts: this ends its rest.
      if (endpointNow().failures > 0) await call('PATCH', url, { body: { status: 'enabled' } })
      notify('Sending again.')
      await anew()
    })
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
    const tag = h(
      status === 'failed' ? 'span.tag.bad' : status === 'delivered' ? 'span.tag.ok' : 'span.tag.warning',
      {},
      status,
    )
    const isDue = nextAttemptAt !== null && Date.parse(nextAttemptAt) <= Date.now()
    const outcome =
      status === 'delivered'
        ? [deliveredAt && time(deliveredAt, true)]
        : [lastError, ' ', isDue ? 'Due now.' : nextAttemptAt && ['Next attempt ', time(nextAttemptAt, true)]]
    return h(
      'tr',
      {},
      h('td.when', {}, time(createdAt)),
      h('td', {}, rowLink(addressOf(['webhooks', place.id ?? '', eventId]), wordsOf(type), type)),
      h('td', {}, tag),
      h(
        'td',
        {},
        attempts > 0 ? counted(attempts, 'attempt') : 'none yet',
        attempts > 0 && lastStatusCode && `, last ${lastStatusCode}`,
      ),
      h('td', {}, h('bdi', {}, outcome)),
      h(
        'td.end',
        {},
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
    const none = h('p.muted.empty', {}, 'No deliveries.')
    refill(
      list,
      items.length > 0
        ? table(['When', 'Event', 'State', 'Attempts', 'Outcome', ''], items.map(rowOf))
        : none,
    )
  }
  const anew = async (): Promise<void> => {
    isLonger = false
    poll = repeated(`${url}/deliveries`)
    await refresh()
  }
  const choose = (chosen: string) => {
    status = chosen
    replaceAddress(['webhooks', place.id ?? ''], { status })
    void attempt(anew)
  }
  return {
    element: card(
      h('p', {}, segments('State of the deliveries', STATUSES, status, choose)),
      list,
      older.element,
    ),
    refresh,
    /** Whether older ones were loaded: the shown ones then stay unchanged. */
    isHeld: () => isLonger,
  }
}
