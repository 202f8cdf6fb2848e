import type { WebhookEndpoint, WebhookEndpointWithSecret } from '../shapes/webhook.ts'
import { call, can, path, pollOf } from './api.ts'
import { nameOf, whyFailing } from './attention.ts'
import { deliveriesOf } from './deliveries.ts'
import { askToDelete, hoursField, isoOf, openForm, tick, timeField } from './dialog.ts'
import { actions, bdi, card, counted, crumb, facts, goTo, h, type Place, refill } from './dom.ts'
import { endpointFields, endpointOf, healthOf, secretToCopy, whatIsSent, wordsOf } from './endpoint-form.ts'
import { liveMark } from './live-mark.ts'
import { forOperator, gated, idOf, notify, pretty } from './notices.ts'
import { memberOf } from './raw.ts'
import { repeat } from './repeat.ts'
import { editReceiver, isReceiver } from './send-to.ts'
import { NOTHING_TO_SEND, sendTest, templateEditor } from './template-editor.ts'

/** One endpoint: its health, its template and its deliveries. */
export const endpointView = async (id: string, place: Place, signal: AbortSignal) => {
  const url = path`/webhook_endpoints/${id}`
  const first = await call<WebhookEndpoint>('GET', url, { signal })
  let endpoint = first.value
  const mark = liveMark()
  const heading = h('div')
  const about = h('div')
  const buttons = actions()
  const technical = h('div')
  const developers = h('details', h('summary', 'For developers'), technical)
  const tested = h('div', { role: 'status' })
  const change = async (body: object | string): Promise<void> => {
    endpoint = (await call<WebhookEndpoint>('PATCH', url, { body })).value
    show()
  }
  const show = (): void => {
    const isForPeople = isReceiver(endpoint)
    const isEnabled = endpoint.status === 'enabled'
    const toggleStatus = () => change({ status: isEnabled ? 'disabled' : 'enabled' })
    refill(
      heading,
      h('h1', bdi(nameOf(endpoint))),
      h('p.lead.muted', whatIsSent(endpoint), ' ', healthOf(endpoint)),
    )
    refill(about, facts({ ...factsOf(endpoint), ...(!isForPeople && technicalFactsOf(endpoint)) }))
    developers.hidden = !isForPeople
    refill(
      technical,
      facts(technicalFactsOf(endpoint)),
      actions(gated('webhooks:write', 'Rotate secret…', rotate)),
    )
    refill(
      buttons,
      gated('webhooks:write', 'Send a test', test),
      gated('webhooks:write', 'Edit…', edit),
      gated('webhooks:write', isEnabled ? 'Disable' : 'Enable', toggleStatus),
      gated('webhooks:write', 'Replay…', replay),
      !isForPeople && gated('webhooks:write', 'Rotate secret…', rotate),
      gated('webhooks:write', 'Delete…', remove, { class: 'danger' }),
    )
  }
  const test = async (): Promise<void> => {
    await template?.load()
    const hasNone = template !== null && can('prospect_logs:read') && !template.newestLogId()
    if (hasNone) refill(tested, h('p.muted', NOTHING_TO_SEND))
    else await sendTest(url, template?.newestLogId(), tested)
  }
  const edit = () => (isReceiver(endpoint) ? editReceiver(endpoint, change) : editEndpoint())
  const editEndpoint = () =>
    openForm({
      title: 'Edit this receiver',
      action: 'Save',
      body: endpointFields(endpoint),
      run: (values) => change(endpointOf(values)),
    })
  const replay = () =>
    openForm({
      title: 'Send events again',
      action: 'Replay',
      body: [
        timeField('Events since', 'since', { required: true }),
        tick('all', 'Include events that were already delivered'),
      ],
      run: async ({ since, all }) => {
        const count = await replayEvents(url, isoOf(since), all !== 'on')
        notify(`${counted(count, 'event')} will be sent again.`)
      },
    })
  const rotate = () =>
    openForm({
      title: 'A new signing secret',
      action: 'Rotate',
      body: [hoursField('Hours during which the old secret also signs')],
      run: async ({ overlapHours }) => {
        const body = { overlapHours: Number(overlapHours) }
        const { value } = await call<WebhookEndpointWithSecret>('POST', `${url}/rotate_secret`, { body })
        return secretToCopy(value.secret)
      },
    })
  const remove = () =>
    askToDelete(
      nameOf(endpoint),
      'It receives nothing more, and deliveries that wait are dropped. Events stay in the feed.',
      async () => {
        await call('DELETE', url)
        goTo(['webhooks'])
      },
    )

  const savedBody = memberOf(first.text, 'body')
  const template =
    endpoint.body === null ? null : templateEditor(pretty(savedBody), () => endpoint.sources, signal)
  const save = async () => {
    await change(`{"body":${template?.input.value}}`)
    notify('Saved. It applies to all that is sent from now on.')
  }
  const deliveries = deliveriesOf(url, place, signal, () => endpoint)
  const poll = pollOf<WebhookEndpoint>(url)
  const work = async (): Promise<void> => {
    if (template && !template.newestLogId()) await template.load()
    const answer = await poll({}, signal)
    if (answer) {
      endpoint = answer.value
      show()
    }
    await deliveries.refresh()
  }
  show()
  void repeat({ signal, work, onState: mark.set, state: deliveries.state })
  return [
    h('header', crumb('CRM & webhooks', 'webhooks'), heading, mark),
    card(about, buttons, tested, developers),
    template && [
      h('h2.label', 'What is sent'),
      card(template.element, actions(gated('webhooks:write', 'Save what is sent', save))),
    ],
    h('h2.label', 'Deliveries, newest first'),
    deliveries.element,
  ]
}

const factsOf = (endpoint: WebhookEndpoint) => {
  const { url, types, sources, logTypes, status, disabledReason, lastError } = endpoint
  const hint = status === 'enabled' && h('small', '“Send again” tries at once.')
  return {
    URL: bdi(url),
    Events: types?.map(wordsOf).join(', ') ?? 'all',
    Sources: bdi(sources?.join(', ')),
    Types: bdi(logTypes?.join(', ')),
    Failing: lastError && [whyFailing(endpoint), forOperator(lastError.reason), hint],
    Disabled: disabledReason && h('span.bad', disabledReason),
  }
}

/** What only a program needs to know. */
const technicalFactsOf = ({ webhookEndpointId, headers, method }: WebhookEndpoint) => ({
  Headers: headers && Object.keys(headers).join(', '),
  Method: method !== 'POST' && method,
  ID: idOf(webhookEndpointId),
})

type Replayed = { readonly deliveries: number; readonly nextCursor: string | null }
/** Sends the events since a time again, slice by slice. Returns how many. */
const replayEvents = async (url: string, since: string | undefined, onlyUndelivered: boolean) => {
  let count = 0
  let start: object = { since }
  for (;;) {
    const { value } = await call<Replayed>('POST', `${url}/replay`, { body: { ...start, onlyUndelivered } })
    count += value.deliveries
    if (value.nextCursor === null) return count
    start = { cursor: value.nextCursor }
  }
}
