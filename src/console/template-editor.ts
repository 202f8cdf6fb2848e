import { parseTemplate, render } from '../json/template.ts'
import type { WebhookTest } from '../shapes/webhook.ts'
import { call, Problem } from './api.ts'
import { area } from './dialog.ts'
import { type Child, h, refill } from './dom.ts'
import { bytesOf, type NewestEvent, readNewestEvent } from './newest-event.ts'
import { code, pretty } from './notices.ts'
import { memberOf } from './raw.ts'
import { templateForm } from './template-form.ts'

/** The service sends no larger body: see `webhook-body.ts`. */
const BODY_BYTES_MAX = 262_144

/** A template as a form; and as JSON, with the body that it makes of the newest activity. */
export const templateEditor = (
  template: string,
  sourceNow: () => string | undefined,
  signal?: AbortSignal,
) => {
  let event: NewestEvent | null = null
  let whyNoEvent = 'Loading…'
  const preview = h('div', { role: 'status' })
  const form = templateForm((changed) => {
    input.value = changed
    show()
  })
  const show = (): void => {
    form.show(input.value, event)
    refill(
      preview,
      h('small', 'Filled in with the newest activity'),
      faultIn(input.value) ?? (event === null ? whyNoEvent : bodyOf(input.value, event)),
    )
  }
  const label = area('Template', 'body', { value: template, rows: 14, maxlength: 16_384, oninput: show })
  const input = label.querySelector('textarea') as HTMLTextAreaElement
  const load = async (): Promise<void> => {
    try {
      event = await readNewestEvent(sourceNow(), signal)
      whyNoEvent = 'Nothing to fill in yet.'
    } catch (error) {
      whyNoEvent = (error as Error).message
    }
    show()
  }
  show()
  void load()
  const hint = h(
    'small',
    h('code', '{{/data/prospect/email}}'),
    ' becomes the value there; with ',
    h('code', '?'),
    ' before the braces its member is left out if there is none.',
  )
  return {
    element: h(
      'div.fields',
      form.element,
      h('details', h('summary', 'Advanced: the body as JSON'), h('div.beside', label, preview), hint),
    ),
    input,
    show,
    load,
    eventId: () => event?.eventId,
  }
}

/** The first fault of a template, or null. */
const faultIn = (text: string): string | null => {
  try {
    JSON.parse(text)
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`
  }
  const [fault] = parseTemplate(text).faults
  return fault ? `${fault.pointer || 'The template'} ${fault.detail}.` : null
}

const bodyOf = (text: string, event: NewestEvent): Child => {
  const body = render(parseTemplate(text).template, event.text, BODY_BYTES_MAX)
  if (body === null || bytesOf(body) > BODY_BYTES_MAX) return 'This body would be larger than 256 KiB.'
  return code(pretty(body), 'Body')
}

/** Sends the newest activity to an endpoint as a test, and shows what the receiver answered. */
export const sendTest = async (url: string, eventId: () => string | undefined, result: HTMLElement) => {
  refill(result, 'Sending…')
  try {
    const { value, text } = await call<WebhookTest>('POST', `${url}/test`, { body: { eventId: eventId() } })
    const { delivered, statusCode, durationMs, error, answer } = value
    refill(
      result,
      delivered
        ? h('p.ok', `Delivered: status ${statusCode} after ${durationMs} ms.`)
        : h('p.bad', `Not delivered after ${durationMs} ms: ${error ?? ''}`),
      answer && h('p', 'It answered: ', h('bdi.mono', answer)),
      h('details', h('summary', 'What was sent'), code(pretty(memberOf(text, 'body')), 'What was sent')),
    )
  } catch (error) {
    refill(result)
    if (!(error instanceof Problem && error.code === 'event_not_found')) throw error
    const why = 'The newest activity is older than the endpoint. Send another one, and test then.'
    refill(result, h('p.warning', why))
  }
}
