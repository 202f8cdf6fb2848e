import type { WebhookEndpoint, WebhookEndpointWithSecret } from '../shapes/webhook.ts'
import { call, get, path, type Slice } from './api.ts'
import { nameOf as endpointName } from './attention.ts'
import { choice, field, openForm } from './dialog.ts'
import { actions, bdi, button, goTo, h } from './dom.ts'
import { secretToCopy } from './endpoint-form.ts'
import { knownSources } from './known-sources.ts'
import { withExact } from './raw.ts'
import { RECEIVERS, type Receiver, type ReceiverName } from './receivers.ts'
import { NOTHING_TO_SEND, sendTest, templateEditor } from './template-editor.ts'

/** Sources that one endpoint can name. */
const SOURCES_MAX = 50

/**
 * Asks for what a receiver needs, for the activities to send, and for what fills its fields, which is shown for the newest
 * activity. Without a source, those of forms are chosen.
 */
export const sendTo = async (name: ReceiverName, source?: string): Promise<void> => {
  const receiver = choice('Send to', 'receiver', RECEIVER_TEXTS, { value: name, onchange: () => adapt() })
  const hint = h('p.muted')
  const token = field('Token', 'token', { type: 'password' })
  const activities = await activitiesToChoose(source === undefined ? undefined : [source], () => {
    void editor.load()
  })
  const address = field('Address', 'url', {
    type: 'url',
    required: true,
    placeholder: 'https://',
    oninvalid: () => {
      editor.advanced.open = true
    },
  })
  const addressPlace = h('div')
  const knownAddressPlace = h('div')
  const editor = templateEditor('', activities.sources, undefined, knownAddressPlace)
  const select = receiver.querySelector('select') as HTMLSelectElement
  const chosen = (): Receiver => RECEIVERS[select.value as ReceiverName]
  /** Shows what the chosen receiver needs. An address that all its users share is beside the JSON. */
  const adapt = (): void => {
    const { url, token: header, hint: words, body } = chosen()
    hint.textContent = words
    const place = url === null ? addressPlace : knownAddressPlace
    place.append(address)
    const addressInput = address.querySelector('input') as HTMLInputElement
    addressInput.value = url ?? ''
    token.hidden = header === null
    token.querySelector('input')?.toggleAttribute('required', header !== null)
    if (token.firstChild) token.firstChild.textContent = header?.label ?? ''
    editor.startFrom(body)
  }
  adapt()
  /** The connection that the reader was warned of, because it does the same. */
  let warnedOf = ''
  openForm({
    title: 'Send to a CRM or another tool',
    done: 'Saved. Nothing was sent yet.',
    action: 'Connect',
    body: [receiver, hint, addressPlace, token, activities.element, editor.element],
    run: async (values) => {
      const { name, token } = chosen()
      const sources = activities.sources()
      const twins = await endpointsLike(values['url'] ?? '', sources)
      const [twin] = twins
      if (twin && warnedOf !== twin.webhookEndpointId) {
        warnedOf = twin.webhookEndpointId
        throw new Error(
          `“${endpointName(twin)}” already sends these activities there. Press Connect again if you want both.`,
        )
      }
      const endpoint = {
        url: values['url'],
        types: ['prospect_log.created'],
        sources,
        headers: token && { [token.header]: `${token.prefix}${values['token']?.trim()}` },
        description: twin ? `${name} ${twins.length + 1}` : name,
      }
      const body = withExact(endpoint, 'body', values['body'] ?? '')
      const { value } = await call<WebhookEndpointWithSecret>('POST', '/webhook_endpoints', { body })
      const { webhookEndpointId, secret } = value
      goTo(['webhooks', webhookEndpointId])
      await editor.load()
      const result = h('div', { role: 'status' })
      const url = path`/webhook_endpoints/${webhookEndpointId}`
      const test = () => sendTest(url, editor.newestLogId(), result)
      return [
        h(
          'p',
          'From now on, each new activity ',
          sources && ['of ', h('b', bdi(sources.join(', '))), ' '],
          `is sent to ${name}.`,
        ),
        h('p', editor.newestLogId() ? WHETHER_IT_WORKS : NOTHING_TO_SEND),
        editor.newestLogId() && actions(button('Send the newest activity as a test', test)),
        result,
        chosen().verifiesSignatures && h('details', h('summary', 'For developers'), secretToCopy(secret)),
      ]
    },
  })
}

/** The connections that send the same activities to the same address. */
const endpointsLike = async (url: string, sources: readonly string[] | null) => {
  const { items } = await get<Pick<Slice<WebhookEndpoint>, 'items'>>('/webhook_endpoints')
  const sameSources = JSON.stringify(sources)
  return items.filter((other) => other.url === url && JSON.stringify(other.sources) === sameSources)
}

const WHETHER_IT_WORKS = 'A test shows whether it arrives, with the activity that you just saw.'

const RECEIVER_TEXTS = Object.fromEntries(Object.entries(RECEIVERS).map(([id, { text }]) => [id, text]))

const ONLY_ACTIVITIES = '["prospect_log.created"]'

/** The token that a receiver takes, by its address. */
const tokenAt = (url: string) => Object.values(RECEIVERS).find((receiver) => receiver.url === url)?.token

/** Whether an endpoint is as `sendTo` makes it, so that it can be edited without the form for developers. */
export const isReceiver = ({ url, types, logTypes, headers, body }: WebhookEndpoint): boolean => {
  const isOfActivities = JSON.stringify(types) === ONLY_ACTIVITIES && logTypes === null
  return body !== null && isOfActivities && (headers === null || Boolean(tokenAt(url)))
}

/** Edits the name, the activities and the token of a receiver. */
export const editReceiver = async (
  { url, sources, description }: WebhookEndpoint,
  change: (body: object) => Promise<void>,
): Promise<void> => {
  const activities = await activitiesToChoose(sources)
  const token = tokenAt(url)
  openForm({
    title: 'Edit this receiver',
    action: 'Save',
    body: [
      field('Name', 'description', { maxlength: 255, value: description }),
      activities.element,
      token && field(token.label, 'token', { type: 'password' }, 'Leave it empty to keep the present one.'),
      field('Address', 'url', { type: 'url', required: true, value: url }),
    ],
    run: (values) => {
      const entered = values['token']?.trim()
      return change({
        url: values['url'],
        description: values['description'] || null,
        sources: activities.sources(),
        headers: token && entered ? { [token.header]: token.prefix + entered } : undefined,
      })
    },
  })
}

/** A choice of sources: those of the preset, by default all forms. Null are all sources. */
const activitiesToChoose = async (named?: readonly string[] | null, onchange = () => {}) => {
  const known = [...(await knownSources(0))].sort(([a], [b]) => a.localeCompare(b))
  const forms = known.flatMap(([name, { isForm }]) => (isForm ? name : [])).slice(0, SOURCES_MAX)
  const others = known.flatMap(([name, { isForm }]) => (isForm ? [] : name))
  const jsonOf = (sources: readonly string[]) => JSON.stringify(sources)
  const preset = named === undefined ? forms : (named ?? [])
  const texts = {
    ...(preset.length > 0 && { [jsonOf(preset)]: preset.join(', ') }),
    ...(forms.length > 1 && { [jsonOf(forms)]: `All forms: ${forms.join(', ')}` }),
    ...Object.fromEntries(forms.map((name) => [jsonOf([name]), `${name} (form)`])),
    ...Object.fromEntries(others.map((name) => [jsonOf([name]), name])),
    '': 'All activities, of every source',
  }
  const value = preset.length > 0 ? jsonOf(preset) : ''
  const element = choice('Which activities?', 'sources', texts, { value, onchange })
  return {
    element,
    /** The chosen sources; null for all. */
    sources: (): readonly string[] | null => {
      const chosen = element.querySelector('select')?.value
      return chosen ? JSON.parse(chosen) : null
    },
  }
}
