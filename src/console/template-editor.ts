import { parseTemplate, render } from '../json/template.ts'
import type { Prospect } from '../shapes/prospect.ts'
import type { WebhookTest } from '../shapes/webhook.ts'
import { call, can, get, type Slice } from './api.ts'
import { area } from './dialog.ts'
import { type Child, h, refill } from './dom.ts'
import { bytesOf, type NewestEvent, readNewestEvent } from './newest-event.ts'
import { code, pretty, reasonShown } from './notices.ts'
import { memberOf } from './raw.ts'
import { fitted, templateForm } from './template-form.ts'

/** The service sends no larger body: see `webhook-body.ts`. */
const BODY_BYTES_MAX = 262_144

/** People whose attributes are offered: the newest ones. */
const PEOPLE_MAX = 50

/**
 * A template as a form; and as JSON on demand, with the body that it makes of the newest activity of these sources, or of
 * all. `more` is shown beside the JSON.
 */
export const templateEditor = (
  template: string,
  sourcesNow: () => readonly string[] | null,
  signal?: AbortSignal,
  more?: Child,
) => {
  let event: NewestEvent | null = null
  let seen: readonly string[] = []
  let whyNoEvent = 'Loading…'
  const preview = h('div', { role: 'status' })
  const form = templateForm((changed) => {
    input.value = changed
    show()
  })
  const show = (): void => {
    form.show(input.value, event, seen)
    refill(
      preview,
      h('small', 'Filled in with the newest activity'),
      faultIn(input.value) ?? (event === null ? whyNoEvent : bodyOf(input.value, event)),
    )
  }
  const label = area('Template', 'body', { value: template, rows: 14, maxlength: 16_384, oninput: show })
  const input = label.querySelector('textarea') as HTMLTextAreaElement
  /** A preset that was not edited is fitted to the newest activity again once another one is read. */
  let preset: { readonly template: string; readonly shown: string } | undefined
  const startFrom = (template: string): void => {
    preset = { template, shown: fitted(template, event) }
    input.value = preset.shown
    show()
  }
  const load = async (): Promise<void> => {
    try {
      event = await readNewestEvent(sourcesNow(), signal)
      whyNoEvent = 'Nothing to fill in yet.'
    } catch (error) {
      whyNoEvent = (error as Error).message
    }
    if (preset && input.value === preset.shown) startFrom(preset.template)
    else show()
  }
  show()
  void load()
  void attributeNames(signal).then((names) => {
    seen = names
    show()
  })
  const hint = h(
    'small',
    h('code', '{{/data/prospect/email}}'),
    ' becomes the value there; with ',
    h('code', '?'),
    ' before the braces its member is left out if there is none.',
  )
  const advanced = h(
    'details',
    h('summary', 'Advanced: show as JSON'),
    more,
    h('div.beside', label, preview),
    hint,
  )
  return {
    element: h('div.fields', form.element, advanced),
    advanced,
    input,
    /** Begins again with a preset. */
    startFrom,
    load,
    newestLogId: () => event?.prospectLogId,
  }
}

/** The names of the attributes that people have. */
const attributeNames = async (signal?: AbortSignal): Promise<readonly string[]> => {
  if (!can('prospects:read')) return []
  const query = { limit: PEOPLE_MAX }
  const { items } = await get<Slice<Prospect>>('/prospects', query, signal).catch(() => ({ items: [] }))
  return [...new Set(items.flatMap(({ attributes }) => Object.keys(attributes)))].sort()
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

export const NOTHING_TO_SEND =
  'There is no activity to send yet. Fill in the form yourself, for example, and test then.'

/** Sends an activity to an endpoint as a test, or an event made up for it, and shows what the receiver answered. */
export const sendTest = async (url: string, prospectLogId: string | undefined, result: HTMLElement) => {
  refill(result, 'Sending…')
  try {
    const { value, text } = await call<WebhookTest>('POST', `${url}/test`, { body: { prospectLogId } })
    const { delivered, statusCode, durationMs, error, answer } = value
    refill(
      result,
      delivered
        ? h('p.ok', `Delivered: status ${statusCode} after ${durationMs} ms.`)
        : h('p.bad', `Not delivered after ${durationMs} ms: `, reasonShown(error ?? '')),
      answer && h('details', { open: !delivered }, h('summary', 'What it answered'), h('bdi.mono', answer)),
      h('details', h('summary', 'What was sent'), code(pretty(memberOf(text, 'body')), 'What was sent')),
    )
  } catch (error) {
    refill(result)
    throw error
  }
}
