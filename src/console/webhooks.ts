import type { WebhookEndpoint, WebhookEndpointWithSecret } from '../shapes/webhook.ts'
import { call, path } from './api.ts'
import { shortUrl, whyFailing } from './attention.ts'
import { deliveryView } from './deliveries.ts'
import { choice, field, openForm } from './dialog.ts'
import { actions, addressOf, button, goTo, h, rowLink, type View } from './dom.ts'
import { endpointView } from './endpoint.ts'
import { endpointFields, endpointOf, healthOf, secretToCopy, wordsOf } from './endpoint-form.ts'
import { knownSources } from './known-sources.ts'
import { liveTable, row } from './lists.ts'
import { gated } from './notices.ts'
import { withExact } from './raw.ts'
import { RECEIVERS, type Receiver } from './receivers.ts'
import { sendTest, templateEditor } from './template-editor.ts'

/** All endpoints, which receive events; one endpoint; or one delivery. */
export const view: View = (place, signal) => {
  const { id, subId } = place
  if (id && subId) return deliveryView(id, subId, signal)
  return id ? endpointView(id, place, signal) : listView(signal)
}

const listView = async (signal: AbortSignal) => [
  h(
    'header',
    h('h1', 'Webhooks'),
    actions(
      gated('webhooks:write', 'New endpoint', create),
      gated('webhooks:write', 'Connect a receiver', connect, { class: 'primary' }),
    ),
  ),
  await liveTable<WebhookEndpoint>({
    signal,
    path: '/webhook_endpoints',
    heads: ['Endpoint', 'State', 'Failing', 'Events'],
    none: 'Connect HubSpot, Slack, Brevo or any other receiver: each new activity is sent there, and tried again until it arrives.',
    rowOf: (endpoint) => {
      const { webhookEndpointId, url, description, types } = endpoint
      return row(
        rowLink(addressOf(['webhooks', webhookEndpointId]), shortUrl(url), description),
        healthOf(endpoint),
        whyFailing(endpoint),
        types?.map(wordsOf).join(', ') ?? 'all events',
      )
    },
  }),
]

const create = (): void =>
  openForm({
    title: 'New endpoint',
    action: 'Create',
    body: endpointFields(),
    run: async (values) => {
      const body = endpointOf(values)
      const { value } = await call<WebhookEndpointWithSecret>('POST', '/webhook_endpoints', { body })
      goTo(['webhooks', value.webhookEndpointId])
      return secretToCopy(value.secret)
    },
  })

/** Asks for a receiver and the body to send there, which is shown filled in with the newest activity. */
const connect = async (): Promise<void> => {
  const address = field('Its address', 'url', { type: 'url', required: true, placeholder: 'https://' })
  const token = field('Token', 'token', { type: 'password' })
  const hint = h('p.muted')
  const names = [...(await knownSources(0)).keys()].sort()
  const texts = Object.fromEntries(names.map((name) => [name, name]))
  const source = choice(
    'Which activities?',
    'source',
    { '': 'All of them', ...texts },
    { onchange: () => editor.load() },
  )
  const sourceNow = () => source.querySelector('select')?.value || undefined
  const editor = templateEditor('', sourceNow)
  const chosen = (): Receiver => RECEIVERS[select.value as keyof typeof RECEIVERS]
  const adapt = (): void => {
    const receiver = chosen()
    hint.textContent = receiver.hint
    const addressInput = address.querySelector('input') as HTMLInputElement
    addressInput.value = receiver.url ?? ''
    token.hidden = receiver.token === null
    token.querySelector('input')?.toggleAttribute('required', receiver.token !== null)
    if (token.firstChild) token.firstChild.textContent = receiver.token?.label ?? ''
    editor.input.value = receiver.body
    editor.show()
  }
  const receiverNames = Object.entries(RECEIVERS).map(([id, { name }]) => [id, name] as const)
  const receivers = choice('Who receives?', 'receiver', Object.fromEntries(receiverNames), {
    onchange: adapt,
  })
  const select = receivers.querySelector('select') as HTMLSelectElement
  adapt()
  openForm({
    title: 'Connect a receiver',
    done: 'Connected',
    action: 'Connect',
    body: [receivers, hint, address, token, source, editor.element],
    run: async (values) => {
      const receiver = chosen()
      const endpoint = newEndpoint(receiver, values)
      const body = withExact(endpoint, 'body', values['body'] ?? '')
      const { value } = await call<WebhookEndpointWithSecret>('POST', '/webhook_endpoints', { body })
      const { webhookEndpointId, secret } = value
      goTo(['webhooks', webhookEndpointId])
      const result = h('div', { role: 'status' })
      const test = async () => {
        await editor.load()
        await sendTest(path`/webhook_endpoints/${webhookEndpointId}`, editor.eventId, result)
      }
      const verifiesSignatures = receiver.token === null && receiver !== RECEIVERS.slack
      return [
        h('p', 'From now on every new activity is sent there.'),
        actions(button('Send the newest activity as a test', test)),
        result,
        verifiesSignatures && secretToCopy(secret),
      ]
    },
  })
}

const newEndpoint = ({ name, token }: Receiver, values: Readonly<Record<string, string>>) => ({
  url: values['url'],
  types: ['prospect_log.created'],
  sources: values['source'] ? [values['source']] : null,
  headers: token && { [token.header]: `${token.prefix}${values['token']?.trim()}` },
  description: name.split(':')[0],
})
