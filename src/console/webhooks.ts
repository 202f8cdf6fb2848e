import type { EventType } from '../shapes/event.ts'
import type {
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
  WebhookTest,
} from '../shapes/webhook.ts'
import { call, get, path, type Query, repeated, type Slice } from './api.ts'
import { shortUrl } from './attention.ts'
import { ask, attempt, field, gated, idOf, tell, toCopy } from './dialog.ts'
import { button, card, facts, h, table, time } from './dom.ts'
import { liveMark, repeat } from './live.ts'
import { addressOf, type Place, replaceAddress, type View } from './place.ts'

const POLL_MS = 2_000
const STATUSES = ['', 'pending', 'delivered', 'failed'] as const
type List = { readonly items: readonly WebhookEndpoint[] }

/** Endpoints: where events are sent to, whether they arrive, and what to do if not. */
export const webhooksView: View = (place, signal) =>
  place.id ? endpointView(place.id, place, signal) : listView(signal)

const healthOf = ({ status, failures, disabledReason }: WebhookEndpoint) => {
  if (status === 'disabled') return h(disabledReason ? 'span.tag.bad' : 'span.tag', {}, 'disabled')
  return failures > 0 ? h('span.tag.bad', {}, 'failing') : h('span.tag.ok', {}, 'enabled')
}

const listView = (signal: AbortSignal) => {
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
    list.replaceChildren(rows.length > 0 ? table(['Endpoint', 'State', 'Failures', 'Events'], rows) : none)
  }
  void repeat({ signal, ms: POLL_MS, work })
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

const secretShown = (secret: string) => [
  h('p', {}, 'The signing secret, shown only now. Your receiver verifies with it:'),
  toCopy('Signing secret', secret),
]
const endpointFields = (endpoint?: WebhookEndpoint) => [
  field('URL', 'url', { type: 'url', required: true, placeholder: 'https://', value: endpoint?.url }),
  field(
    'Event types',
    'types',
    { value: endpoint?.types?.join(' '), placeholder: 'prospect_log.created page_version.published' },
    'Separated by spaces; empty: all.',
  ),
  field('Note', 'description', { maxlength: 255, value: endpoint?.description }),
]
const chosenIn = ({ url, types = '', description }: Readonly<Record<string, string>>) => {
  const names = types.split(/[\s,]+/).filter(Boolean) as EventType[]
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

const endpointView = async (id: string, place: Place, signal: AbortSignal) => {
  const url = path`/webhook_endpoints/${id}`
  let endpoint = await get<WebhookEndpoint>(url, {}, signal)
  const mark = liveMark()
  const heading = h('div')
  const about = h('div')
  const buttons = h('div.actions')
  const tested = h('div', { role: 'status' })
  const change = async (body: object): Promise<void> => {
    endpoint = (await call<WebhookEndpoint>('PATCH', url, { body })).value
    show()
  }
  const show = (): void => {
    const { url, description, types, status, disabledReason, failures, failingSince } = endpoint
    const isEnabled = status === 'enabled'
    heading.replaceChildren(
      h('h1', {}, h('bdi', {}, shortUrl(url))),
      h('p.lead.muted', {}, description && h('bdi', {}, description), ' ', healthOf(endpoint)),
    )
    const failing = failures > 0 && [
      `${failures} ${failures === 1 ? 'attempt' : 'attempts'} in a row, first `,
      failingSince && time(failingSince, true),
    ]
    about.replaceChildren(
      facts({
        URL: h('bdi', {}, url),
        Events: types?.join(', ') ?? 'all',
        Failing: failing,
        Disabled: disabledReason && h('span.bad', {}, disabledReason),
        Id: idOf(id),
      }),
    )
    buttons.replaceChildren(
      gated('webhooks:write', 'Send a test', () => attempt(test)),
      gated('webhooks:write', 'Edit', edit),
      gated('webhooks:write', isEnabled ? 'Disable' : 'Enable', () =>
        attempt(() => change({ status: isEnabled ? 'disabled' : 'enabled' })),
      ),
      gated('webhooks:write', 'Replay…', replay),
      gated('webhooks:write', 'Rotate secret…', rotate),
      gated('webhooks:write', 'Delete…', remove, { class: 'danger' }),
    )
  }
  const test = async (): Promise<void> => {
    tested.replaceChildren('Sending…')
    const { value } = await call<WebhookTest>('POST', `${url}/test`)
    const { delivered, statusCode, durationMs, error } = value
    const text = delivered
      ? `Delivered: status ${statusCode} after ${durationMs} ms.`
      : `Not delivered after ${durationMs} ms: ${error ?? ''}`
    tested.replaceChildren(h(delivered ? 'p.ok' : 'p.bad', {}, text))
  }
  const edit = () =>
    ask({
      title: 'Edit the endpoint',
      action: 'Save',
      body: endpointFields(endpoint),
      run: async (values) => {
        await change(chosenIn(values))
        return undefined
      },
    })
  const replay = () =>
    ask({
      title: 'Send events again',
      action: 'Replay',
      body: [
        field('Everything since', 'since', { type: 'datetime-local', required: true }),
        h('label.check', {}, h('input', { type: 'checkbox', name: 'all' }), 'Even what was delivered before'),
      ],
      run: async ({ since = '', all }) => {
        let start: object = { since: new Date(since).toISOString() }
        let [count, next]: [number, string | null] = [0, null]
        do {
          const { value } = await call<{ deliveries: number; nextCursor: string | null }>(
            'POST',
            `${url}/replay`,
            { body: { ...start, onlyUndelivered: all !== 'on' } },
          )
          count += value.deliveries
          next = value.nextCursor
          start = { cursor: next }
        } while (next !== null)
        tell(`${count} deliveries are pending because of it.`)
        return undefined
      },
    })
  const rotate = () =>
    ask({
      title: 'A new signing secret',
      action: 'Rotate',
      body: [
        field('For how many hours does the old one sign too?', 'overlapHours', {
          type: 'number',
          min: 0,
          max: 168,
          value: 24,
          required: true,
        }),
      ],
      run: async ({ overlapHours }) => {
        const body = { overlapHours: Number(overlapHours) }
        return secretShown(
          (await call<WebhookEndpointWithSecret>('POST', `${url}/rotate_secret`, { body })).value.secret,
        )
      },
    })
  const remove = () =>
    ask({
      title: `Delete ${shortUrl(endpoint.url)}`,
      action: 'Delete',
      isDanger: true,
      body: [
        h('p', {}, 'It gets nothing from now on, and what waits for it is dropped. Events stay in the feed.'),
      ],
      run: async () => {
        await call('DELETE', url)
        location.hash = addressOf(['webhooks'])
        return undefined
      },
    })

  const deliveries = deliveriesOf(url, place, signal)
  const poll = repeated<WebhookEndpoint>(url)
  const work = async (): Promise<void> => {
    const answer = await poll({}, signal)
    if (answer) endpoint = answer.value
    if (answer) show()
    await deliveries.refresh()
  }
  show()
  void repeat({ signal, ms: POLL_MS, work, onAway: (isAway) => mark.set(isAway ? 'away' : 'live') })
  return [
    h('header', {}, h('a.crumbs', { href: addressOf(['webhooks']) }, 'Webhooks'), heading, mark),
    card(about, buttons, tested),
    h('h2.label', {}, 'Deliveries, newest first'),
    deliveries.element,
  ]
}

/** The deliveries of an endpoint by status: each can be sent again. */
const deliveriesOf = (url: string, place: Place, signal: AbortSignal) => {
  let status = place.search.get('status') ?? ''
  let cursor: string | undefined
  const list = h('div')
  const more = button('Load older', () => attempt(loadOlder), { hidden: true, class: 'more' })
  let poll = repeated<Slice<WebhookDelivery>>(`${url}/deliveries`)
  const retry = ({ eventId }: WebhookDelivery) =>
    attempt(async () => {
      await call('POST', `${url}${path`/deliveries/${eventId}/retry`}`)
      tell('It is sent again now.')
      await refresh()
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
    const outcome =
      status === 'delivered'
        ? [deliveredAt && time(deliveredAt, true)]
        : [
            lastError ?? (attempts === 0 ? 'not tried yet' : ''),
            nextAttemptAt && [' Next attempt ', time(nextAttemptAt, true)],
          ]
    return h(
      'tr',
      {},
      h('td.when', {}, time(createdAt)),
      h('td', {}, h('a', { href: addressOf(['events', eventId]), 'data-row': true }, type)),
      h('td', {}, tag),
      h(
        'td',
        {},
        `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`,
        lastStatusCode && `, last ${lastStatusCode}`,
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
  const refresh = async (): Promise<void> => {
    const query: Query = { limit: 50, status }
    const answer = await poll(query, signal)
    if (answer === null) return
    cursor = answer.value.nextCursor
    more.hidden = cursor === undefined
    const { items } = answer.value
    const none = h('p.muted.empty', {}, 'No deliveries here.')
    list.replaceChildren(
      items.length > 0
        ? table(['When', 'Event', 'State', 'Attempts', 'Outcome', ''], items.map(rowOf))
        : none,
    )
  }
  const loadOlder = async (): Promise<void> => {
    const slice = await get<Slice<WebhookDelivery>>(
      `${url}/deliveries`,
      { limit: 50, status, cursor },
      signal,
    )
    cursor = slice.nextCursor
    more.hidden = cursor === undefined
    list.querySelector('tbody')?.append(...slice.items.map(rowOf))
  }
  const choose = (chosen: string) => {
    status = chosen
    poll = repeated(`${url}/deliveries`)
    for (const one of segments.children)
      one.setAttribute('aria-pressed', String(one.getAttribute('data-status') === status))
    replaceAddress(['webhooks', place.id ?? ''], { status })
    void attempt(refresh)
  }
  const segments = h(
    'div.segments',
    { role: 'group', 'aria-label': 'State of the deliveries' },
    STATUSES.map((one) =>
      button(one || 'all', () => choose(one), { 'data-status': one, 'aria-pressed': String(one === status) }),
    ),
  )
  return { element: card(h('p', {}, segments), list, more), refresh }
}
