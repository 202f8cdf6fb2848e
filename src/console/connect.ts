import type { WebhookEndpointWithSecret } from '../shapes/webhook.ts'
import { call, path } from './api.ts'
import { ask } from './dialog.ts'
import { button, h } from './dom.ts'
import { secretShown } from './endpoint-form.ts'
import { choice, field } from './fields.ts'
import { addressOf } from './place.ts'
import { RECEIVERS, type Receiver } from './receivers.ts'
import { templateEditor, testShown } from './template-editor.ts'

/** Chooses a receiver; then what it is sent, with the newest activity filled in. */
export const connect = (): void => {
  const url = field('Its address', 'url', { type: 'url', required: true, placeholder: 'https://' })
  const token = field('Token', 'token', { type: 'password' })
  const hint = h('p.muted')
  const source = field(
    'Only activities from this source',
    'source',
    { maxlength: 100, onchange: () => editor.load() },
    'Such as that of a form whose people leave their email. Empty: all.',
  )
  const sourceNow = () => source.querySelector('input')?.value || undefined
  const editor = templateEditor('', sourceNow)
  const chosen = (): Receiver => RECEIVERS[select.value as keyof typeof RECEIVERS]
  const vary = (): void => {
    const { url: fixed, token: wanted, hint: text, body } = chosen()
    hint.textContent = text
    ;(url.querySelector('input') as HTMLInputElement).value = fixed ?? ''
    token.hidden = wanted === null
    token.querySelector('input')?.toggleAttribute('required', wanted !== null)
    if (token.firstChild) token.firstChild.textContent = wanted?.label ?? ''
    editor.input.value = body
    editor.show()
  }
  const names = Object.entries(RECEIVERS).map(([id, { name }]) => [id, name] as const)
  const receiver = choice('Who receives?', 'receiver', Object.fromEntries(names), { onchange: vary })
  const select = receiver.querySelector('select') as HTMLSelectElement
  vary()
  ask({
    title: 'Connect a receiver',
    done: 'Connected',
    action: 'Connect',
    body: [receiver, hint, url, token, source, editor.element],
    run: async (values) => {
      const { token: wanted, name } = chosen()
      const given = {
        url: values['url'],
        types: ['prospect_log.created'],
        sources: values['source'] ? [values['source']] : null,
        headers: wanted && { [wanted.header]: `${wanted.prefix}${values['token']?.trim()}` },
        description: name.split(':')[0]?.slice(0, 255),
      }
      const body = `${JSON.stringify(given).slice(0, -1)},"body":${values['body']}}`
      const { value } = await call<WebhookEndpointWithSecret>('POST', '/webhook_endpoints', { body })
      const { webhookEndpointId, secret } = value
      location.hash = addressOf(['webhooks', webhookEndpointId])
      const result = h('div', { role: 'status' })
      const test = () => testShown(path`/webhook_endpoints/${webhookEndpointId}`, editor.eventId, result)
      return [
        h('p', {}, 'From now on every new activity is sent there.'),
        h(
          'div.actions',
          {},
          button('Send the newest activity as a test', () => editor.load().then(test)),
        ),
        result,
        wanted === null && !select.value.startsWith('slack') && secretShown(secret),
      ]
    },
  })
}
