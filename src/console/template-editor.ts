import { membersOf } from '../json/raw-json.ts'
import { parseTemplate, render } from '../json/template.ts'
import type { Prospect } from '../shapes/prospect.ts'
import type { ProspectLog } from '../shapes/prospect-log.ts'
import type { WebhookTest } from '../shapes/webhook.ts'
import { call, get, itemTexts, memberOf, Problem, path, session } from './api.ts'
import { attempt } from './dialog.ts'
import { h } from './dom.ts'
import { area } from './fields.ts'
import { code, pretty } from './json-view.ts'

/** As large as the service sends: see `webhook-body.ts` and `event-data.ts`. */
const [BODY_BYTES_MAX, DATA_BYTES_MAX] = [262_144, 20_480]
const bytesOf = (text: string) => new TextEncoder().encode(text).length

/** The newest activity as the event that its webhook shows; null if there is none. */
const newestEvent = async (source: string | undefined, signal?: AbortSignal) => {
  const { text } = await call('GET', '/prospect_logs', { query: { limit: 1, source }, signal })
  const [log] = itemTexts(text)
  if (log === undefined) return null
  const { prospectLogId, prospectId, createdAt }: ProspectLog = JSON.parse(log)
  const { payload, ...others } = Object.fromEntries(membersOf(log).members)
  const isLarge = bytesOf(log) > DATA_BYTES_MAX
  const members = Object.entries(isLarge ? others : { ...others, payload })
  const person = await get<Prospect>(path`/prospects/${prospectId}`, {}, signal).catch(() => null)
  const { email, externalId, name } = person ?? {}
  const data = [
    ...members.map(([member, value]) => `${JSON.stringify(member)}:${value?.rawJson}`),
    ...(isLarge ? ['"payloadOmitted":true'] : []),
    ...(person
      ? [`"prospect":${JSON.stringify({ prospectId: person.prospectId, email, externalId, name })}`]
      : []),
  ]
  const eventId = prospectLogId.replace(/^[a-z]+/, 'event')
  const head = {
    eventId,
    type: 'prospect_log.created',
    timestamp: createdAt,
    tenantId: session.self?.tenantId,
  }
  return { eventId, text: `${JSON.stringify(head).slice(0, -1)},"data":{${data}}}` }
}

/** A template beside the body that it makes of the newest activity, while it is edited. */
export const templateEditor = (
  template: string,
  sourceNow: () => string | undefined,
  signal?: AbortSignal,
) => {
  let newest: Awaited<ReturnType<typeof newestEvent>> = null
  let why = 'Loading the newest activity…'
  const shown = h('div', { role: 'status' })
  const show = (): void => {
    const told = bodyOf(input.value)
    shown.replaceChildren(
      h('small', {}, 'Filled in with the newest activity'),
      ...(typeof told === 'string' ? [h('p.muted', {}, told)] : [code(pretty(told.body), 'Body')].flat()),
    )
  }
  const bodyOf = (text: string): string | { readonly body: string } => {
    try {
      JSON.parse(text)
    } catch (error) {
      return `This is not JSON: ${(error as Error).message}`
    }
    const { template, faults } = parseTemplate(text)
    const [fault] = faults
    if (fault) return `${fault.pointer || 'The template'} ${fault.detail}.`
    if (newest === null) return why
    const body = render(template, newest.text, BODY_BYTES_MAX)
    if (body === null || bytesOf(body) > BODY_BYTES_MAX) return 'This body would be larger than 256 KiB.'
    return { body }
  }
  const label = area('Template', 'body', { value: template, rows: 14, maxlength: 16_384, oninput: show })
  const input = label.querySelector('textarea') as HTMLTextAreaElement
  const load = async (): Promise<void> => {
    try {
      newest = await newestEvent(sourceNow(), signal)
      why = 'Nothing to fill in yet: it shows once an activity has arrived.'
    } catch (error) {
      why = (error as Error).message
    }
    show()
  }
  show()
  void load()
  const hint = [
    h('code', {}, '{{/data/prospect/email}}'),
    ' becomes the value there; with ',
    h('code', {}, '?'),
    ' before the braces its member is left out if there is none.',
  ]
  return {
    element: h('div.fields', {}, h('div.beside', {}, label, shown), h('small', {}, hint)),
    input,
    show,
    load,
    eventId: () => newest?.eventId,
  }
}

/** Sends the event of the newest activity, and shows what the receiver answered. */
export const testShown = (url: string, eventId: () => string | undefined, result: HTMLElement) =>
  attempt(async () => {
    result.replaceChildren('Sending…')
    const id = eventId()
    const answer = await call<WebhookTest>('POST', `${url}/test`, { body: id ? { eventId: id } : {} }).catch(
      (error) => {
        result.replaceChildren()
        if (!(error instanceof Problem && error.code === 'event_not_found')) throw error
        result.replaceChildren(
          h(
            'p.warning',
            {},
            'The newest activity arrived before there was an endpoint. Send another one, and test then.',
          ),
        )
        return null
      },
    )
    if (answer === null) return
    const { delivered, statusCode, durationMs, error, answer: said } = answer.value
    const text = delivered
      ? `Delivered: status ${statusCode} after ${durationMs} ms.`
      : `Not delivered after ${durationMs} ms: ${error ?? ''}`
    result.replaceChildren(
      h(delivered ? 'p.ok' : 'p.bad', {}, text),
      ...[said && h('p', {}, 'It answered: ', h('bdi.mono', {}, said))].filter(
        (child) => child instanceof Node,
      ),
      h(
        'details',
        {},
        h('summary', {}, 'What was sent'),
        code(pretty(memberOf(answer.text, 'body')), 'What was sent'),
      ),
    )
  })
