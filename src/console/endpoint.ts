import type { WebhookEndpoint, WebhookEndpointWithSecret } from '../shapes/webhook.ts'
import { call, memberOf, path, repeated } from './api.ts'
import { shortUrl } from './attention.ts'
import { deliveriesOf } from './deliveries.ts'
import { ask, askToDelete, attempt, gated, idOf, notify } from './dialog.ts'
import { card, counted, facts, h, refill, time } from './dom.ts'
import { chosenIn, endpointFields, healthOf, secretShown } from './endpoint-form.ts'
import { wordsOf } from './event-types.ts'
import { field } from './fields.ts'
import { pretty } from './json-view.ts'
import { type LiveState, liveMark, repeat } from './live.ts'
import { addressOf, type Place } from './place.ts'
import { templateEditor, testShown } from './template-editor.ts'

const POLL_MS = 2_000

/** One endpoint: its health and its deliveries. */
export const endpointView = async (id: string, place: Place, signal: AbortSignal) => {
  const url = path`/webhook_endpoints/${id}`
  const first = await call<WebhookEndpoint>('GET', url, { signal })
  let endpoint = first.value
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
    const { url, description, types, sources, logTypes, headers, method } = endpoint
    const { status, disabledReason, failures, failingSince, lastError } = endpoint
    const isEnabled = status === 'enabled'
    refill(
      heading,
      h('h1', {}, h('bdi', {}, shortUrl(url))),
      h('p.lead.muted', {}, description && h('bdi', {}, description), ' ', healthOf(endpoint)),
    )
    const failing = lastError && [
      failures > 0 ? `${counted(failures, 'attempt')} in a row, first ` : 'Nothing could be sent, since ',
      time(failingSince ?? lastError.at, true),
      h('span.bad', {}, ': ', h('bdi', {}, lastError.reason)),
      isEnabled && h('small', {}, 'It is tried again by itself. “Send again” tries at once.'),
    ]
    refill(
      about,
      facts({
        URL: h('bdi', {}, url),
        Events: types?.map(wordsOf).join(', ') ?? 'all',
        Sources: sources && h('bdi', {}, sources.join(', ')),
        Types: logTypes && h('bdi', {}, logTypes.join(', ')),
        Headers: headers && Object.keys(headers).join(', '),
        Method: method !== 'POST' && method,
        Failing: failing,
        Disabled: disabledReason && h('span.bad', {}, disabledReason),
        Id: idOf(id),
      }),
    )
    refill(
      buttons,
      gated('webhooks:write', 'Send a test', () => attempt(test)),
      gated('webhooks:write', 'Edit…', edit),
      gated('webhooks:write', isEnabled ? 'Disable' : 'Enable', () =>
        attempt(() => change({ status: isEnabled ? 'disabled' : 'enabled' })),
      ),
      gated('webhooks:write', 'Replay…', replay),
      gated('webhooks:write', 'Rotate secret…', rotate),
      gated('webhooks:write', 'Delete…', remove, { class: 'danger' }),
    )
  }
  const test = async (): Promise<void> => {
    await template?.load()
    await testShown(url, () => template?.eventId(), tested)
  }
  const edit = () =>
    ask({
      title: 'Edit the endpoint',
      action: 'Save',
      body: endpointFields(endpoint),
      run: async (values) => {
        await change(chosenIn(values))
      },
    })
  const replay = () =>
    ask({
      title: 'Send events again',
      action: 'Replay',
      body: [
        field('Events since', 'since', { type: 'datetime-local', required: true }),
        h(
          'label.check',
          {},
          h('input', { type: 'checkbox', name: 'all' }),
          'Include events that were already delivered',
        ),
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
        notify(`${counted(count, 'event')} will be sent again.`)
      },
    })
  const rotate = () =>
    ask({
      title: 'A new signing secret',
      action: 'Rotate',
      body: [
        field('Hours during which the old secret also signs', 'overlapHours', {
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
    askToDelete(
      shortUrl(endpoint.url),
      'It receives nothing more, and pending deliveries are dropped. Events stay in the feed.',
      async () => {
        await call('DELETE', url)
        location.hash = addressOf(['webhooks'])
      },
    )

  const kept = memberOf(first.text, 'body')
  const template =
    endpoint.body === null ? null : templateEditor(pretty(kept), () => endpoint.sources?.[0], signal)
  const save = () =>
    attempt(async () => {
      endpoint = (await call<WebhookEndpoint>('PATCH', url, { body: `{"body":${template?.input.value}}` }))
        .value
      notify('Saved. It applies to all that is sent from now on.')
    })
  const deliveries = deliveriesOf(url, place, signal, () => endpoint)
  const poll = repeated<WebhookEndpoint>(url)
  const work = async (): Promise<void> => {
    if (template && !template.eventId()) await template.load()
    const answer = await poll({}, signal)
    if (answer) {
      endpoint = answer.value
      show()
    }
    await deliveries.refresh()
  }
  show()
  const onState = (now: LiveState) => mark.set(now === 'live' && deliveries.isHeld() ? 'held' : now)
  void repeat({ signal, ms: POLL_MS, work, onState })
  return [
    h('header', {}, h('a.crumbs', { href: addressOf(['webhooks']) }, 'Webhooks'), heading, mark),
    card(about, buttons, tested),
    template && [
      h('h2.label', {}, 'Body'),
      card(template.element, h('div.actions', {}, gated('webhooks:write', 'Save the body', save))),
    ],
    h('h2.label', {}, 'Deliveries, newest first'),
    deliveries.element,
  ]
}
