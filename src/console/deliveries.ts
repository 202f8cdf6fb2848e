import type { WebhookEndpoint } from '../shapes/webhook.ts'
import type { WebhookDelivery, WebhookDeliveryWithAttempts } from '../shapes/webhook-delivery.ts'
import { call, get, path, pollOf, type Query, type Slice } from './api.ts'
import {
  addressOf,
  bdi,
  type Child,
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
import { fieldsShown } from './fields.ts'
import { loadMore, row, segments, table } from './lists.ts'
import type { LiveState } from './live-mark.ts'
import { gated, notify, plainReason, reasonShown } from './notices.ts'
import { memberOf } from './raw.ts'

const STATUSES = { '': 'all', pending: 'waiting', delivered: 'delivered', failed: 'failed' }

/** The deliveries of an endpoint, filtered by status. Each can be sent again. */
export const deliveriesOf = (
  url: string,
  place: Place,
  signal: AbortSignal,
  endpointNow: () => WebhookEndpoint,
) => {
  let status = place.search.get('status') ?? ''
  let hasOlder = false
  const list = h('div')
  const older = loadMore(async (cursor) => {
    const query = { limit: 50, status, cursor }
    const slice = await get<Slice<WebhookDelivery>>(`${url}/deliveries`, query, signal)
    hasOlder = true
    list.querySelector('tbody')?.append(...slice.items.map(rowOf))
    return slice.nextCursor
  })
  let poll = pollOf<Slice<WebhookDelivery>>(`${url}/deliveries`)
  const retry = async ({ eventId }: WebhookDelivery) => {
    await call('POST', `${url}${path`/deliveries/${eventId}/retry`}`)
    // An endpoint that keeps failing is paused between attempts. This ends the pause.
    if (endpointNow().failures > 0) await call('PATCH', url, { body: { status: 'enabled' } })
    notify('Sending again.')
    await reload()
  }
  const rowOf = (delivery: WebhookDelivery) => {
    const { eventId, type, status, createdAt } = delivery
    const sendAgain = () => gated('webhooks:write', 'Send again', () => retry(delivery), { class: 'link' })
    return row(
      when(createdAt),
      rowLink(addressOf(['webhooks', place.id ?? '', eventId]), wordsOf(type), type),
      tag(STATUSES[status], STATUS_COLOURS[status]),
      attemptsOf(delivery),
      outcomeOf(delivery),
      h('td.end', status !== 'delivered' && sendAgain()),
    )
  }
  /** Reads the newest deliveries again, unless older ones were loaded: those stay unchanged. */
  const refresh = async (): Promise<void> => {
    if (hasOlder) return
    const query: Query = { limit: 50, status }
    const currentPoll = poll
    const answer = await currentPoll(query, signal)
    // Another status may have been chosen in the meantime. This answer does not belong to it.
    if (answer === null || currentPoll !== poll) return
    older.follow(answer.value.nextCursor)
    const rows = answer.value.items.map(rowOf)
    const none = h('p.muted.empty', 'No deliveries.')
    refill(list, rows.length > 0 ? table(COLUMNS, rows) : none)
  }
  const reload = async (): Promise<void> => {
    hasOlder = false
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
    /** Held once older deliveries are loaded. */
    state: (): LiveState => (hasOlder ? 'held' : 'live'),
  }
}

/** What a receiver answered, which is mostly JSON. */
const answerShown = (answer: string) => h('details', h('summary', 'Show'), h('bdi.mono', answer))

const COLUMNS = ['When', 'Event', 'State', 'Attempts', 'Outcome', '']
const STATUS_COLOURS = { pending: 'warning', delivered: 'ok', failed: 'bad' } as const

const attemptsOf = ({ attempts, lastStatusCode }: WebhookDelivery): string => {
  if (attempts === 0) return 'none yet'
  const count = counted(attempts, 'attempt')
  return lastStatusCode ? `${count}, last ${lastStatusCode}` : count
}

const isDue = (nextAttemptAt: string | null): boolean =>
  nextAttemptAt !== null && Date.parse(nextAttemptAt) <= Date.now()

const outcomeOf = ({ status, lastError, nextAttemptAt, deliveredAt }: WebhookDelivery): Child => {
  if (status === 'delivered') return deliveredAt && time(deliveredAt)
  const next = nextAttemptAt && ['Next attempt ', time(nextAttemptAt)]
  return bdi([lastError && plainReason(lastError), ' ', isDue(nextAttemptAt) ? 'Due now.' : next])
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
      error && reasonShown(error),
      answer === null ? h('span.muted', 'not kept') : answerShown(answer),
    ),
  )
  return [
    h('header', crumb('Receiver', 'webhooks', endpointId), h('h1', wordsOf(type))),
    card(
      facts({
        State: STATUSES[status],
        Attempts: `${attempts}`,
        Next: isDue(nextAttemptAt) ? 'due now' : nextAttemptAt && time(nextAttemptAt),
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
    h('h2.label', 'What would be sent now'),
    card(
      value.body !== null
        ? fieldsShown('Body', memberOf(text, 'body'))
        : h('p.bad', 'Larger than 256 KiB: the template inserts too much.'),
    ),
  ]
}
