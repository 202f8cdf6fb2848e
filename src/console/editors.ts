import { membersOf } from '../json/raw-json.ts'
import { parseTemplate, render } from '../json/template.ts'
import type { Hook, HookTrialResult } from '../shapes/hook.ts'
import type { Prospect } from '../shapes/prospect.ts'
import type { ProspectLog } from '../shapes/prospect-log.ts'
import type { WebhookTest } from '../shapes/webhook.ts'
import { call, get, Problem, path, session } from './api.ts'
import { area, linesOf } from './dialog.ts'
import { actions, bdi, type Child, card, h, refill } from './dom.ts'
import { row, table } from './lists.ts'
import { code, gated, notify, pretty } from './notices.ts'
import { itemTexts, memberOf, withExact } from './raw.ts'

/** As large as the service sends: see `webhook-body.ts` and `event-data.ts`. */
const BODY_BYTES_MAX = 262_144
const DATA_BYTES_MAX = 20_480
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
  const data = members.map(([member, value]) => `${JSON.stringify(member)}:${value?.rawJson}`)
  if (isLarge) data.push('"payloadOmitted":true')
  if (person) data.push(`"prospect":${JSON.stringify({ prospectId, email, externalId, name })}`)
  const eventId = prospectLogId.replace(/^[a-z]+/, 'event')
  const head = {
    eventId,
    type: 'prospect_log.created',
    timestamp: createdAt,
    tenantId: session.self?.tenantId,
  }
  return { eventId, text: withExact(head, 'data', `{${data}}`) }
}

/** A template beside the body that it makes of the newest activity, while it is edited. */
export const templateEditor = (
  template: string,
  sourceNow: () => string | undefined,
  signal?: AbortSignal,
) => {
  let newest: Awaited<ReturnType<typeof newestEvent>> = null
  let why = 'Loading…'
  const shown = h('div', { role: 'status' })
  const show = (): void =>
    refill(shown, h('small', 'Filled in with the newest activity'), bodyOf(input.value))
  const bodyOf = (text: string): Child => {
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
    return code(pretty(body), 'Body')
  }
  const label = area('Template', 'body', { value: template, rows: 14, maxlength: 16_384, oninput: show })
  const input = label.querySelector('textarea') as HTMLTextAreaElement
  const load = async (): Promise<void> => {
    try {
      newest = await newestEvent(sourceNow(), signal)
      why = 'Nothing to fill in yet.'
    } catch (error) {
      why = (error as Error).message
    }
    show()
  }
  show()
  void load()
  const hint = [
    h('code', '{{/data/prospect/email}}'),
    ' becomes the value there; with ',
    h('code', '?'),
    ' before the braces its member is left out if there is none.',
  ]
  return {
    element: h('div.fields', h('div.beside', label, shown), h('small', hint)),
    input,
    show,
    load,
    eventId: () => newest?.eventId,
  }
}

/** Sends the event of the newest activity, and shows what the receiver answered. */
export const testShown = async (url: string, eventId: () => string | undefined, result: HTMLElement) => {
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

const MEMBERS = ['type', 'email', 'externalId', 'name', 'occurredAt', 'idempotencyKey'] as const
type Member = (typeof MEMBERS)[number]
/** The pause after a letter, before the places are tried. */
const TYPING_MS = 200

/** Where the members of an activity are found: tried on the last delivery while it is edited. */
export const mappingOf = (hookNow: () => Hook, change: (body: object) => Promise<Hook>) => {
  let payload: string | null = null
  const keptOf = (member: Member): string => (hookNow().map[member] ?? []).join('\n')
  const fields = MEMBERS.map((member) => {
    const saved = keptOf(member)
    const input = h('textarea', {
      name: member,
      value: saved,
      rows: (hookNow().map[member] ?? []).length || 1,
      oninput: () => tryAll(),
      'aria-label': `Places of ${member}`,
      spellcheck: 'false',
    })
    return { member, input, saved, found: h('output.mono') }
  })
  /** The map as it is edited: untouched members are as they are saved now. */
  const edited = () => {
    const placesOf = ({ member, input, saved }: (typeof fields)[number]) =>
      input.value === saved ? hookNow().map[member] : linesOf(input.value)
    return Object.fromEntries(fields.map((field) => [field.member, placesOf(field)]))
  }
  let tries = 0
  const tryNow = async (): Promise<void> => {
    const turn = ++tries
    if (payload === null) return
    // An array is stored as the `items` of an object, but is searched as it came.
    const body = /^\{"items":\[/.test(payload) ? memberOf(payload, 'items') : payload
    const trial = { body: { body, map: edited() } }
    const url = path`/hooks/${hookNow().hookId}/try`
    const answer = await call<HookTrialResult>('POST', url, trial).catch((error: Problem) => error)
    if (turn !== tries) return
    if (answer instanceof Error && !answer.errors?.length) throw answer
    for (const { member, found } of fields) {
      const text =
        answer instanceof Error
          ? answer.errors.find(({ pointer }) => pointer?.startsWith(`/map/${member}`))?.detail
          : JSON.stringify(answer.value.activities[0]?.[member] ?? undefined)
      refill(found, bdi(text ?? 'nothing there'))
    }
  }
  let timer = 0
  const tryAll = (): void => {
    clearTimeout(timer)
    timer = setTimeout(tryNow, TYPING_MS)
  }
  const save = async () => {
    const sent = fields.map(({ input }) => input.value)
    await change({ map: edited() })
    for (const [i, field] of fields.entries()) field.saved = sent[i] ?? ''
    notify('Saved. It applies from the next delivery on.')
  }
  return {
    element: h(
      'section',
      h('h2.label', 'Mapping'),
      card(
        h(
          'p.muted',
          'One per line: /data/email, /fields[type=email]/value, /first + /last, =a text, or header:name. The first that leads to a text or a number wins.',
        ),
        table(
          ['Member', 'Places', 'In the last activity'],
          fields.map(({ member, input, found }) => row(member, input, found)),
        ),
        actions(gated('hooks:write', 'Save the mapping', save)),
      ),
    ),
    /** Shows changes saved by someone else in the fields without typed input. */
    follow: (): void => {
      for (const field of fields)
        if (field.input.value === field.saved) field.input.value = field.saved = keptOf(field.member)
      tryAll()
    },
    tryOn: (text: string | null): void => {
      payload = text
      tryAll()
    },
  }
}
