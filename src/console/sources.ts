import type { Hook } from '../shapes/hook.ts'
import { call, get, type Slice } from './api.ts'
import { isRefusing, noted } from './attention.ts'
import { choice, field, openForm } from './dialog.ts'
import { actions, addressOf, goTo, h, rowLink, type View, when } from './dom.ts'
import { liveTable, row } from './lists.ts'
import { gated, toCopy } from './notices.ts'
import { addressIn, kindOf, sourceView, stateOf, VENDORS } from './source.ts'

/** Hooks: where vendors post to. */
export const view: View = (place, signal) => (place.id ? sourceView(place.id, signal) : listView(signal))

const listView = async (signal: AbortSignal) => [
  h(
    'header',
    h('h1', 'Sources'),
    actions(gated('hooks:write', 'Connect a source', connect, { class: 'primary' })),
  ),
  await liveTable<Hook>({
    signal,
    path: '/hooks?limit=100',
    heads: ['Source', 'State', 'Last received', 'Last refusal'],
    none: 'Each delivery of a form or vendor becomes an activity.',
    rowOf: (hook) => {
      const { hookId, source, lastReceivedAt, lastRefusal } = hook
      return row(
        rowLink(addressOf(['sources', hookId]), source, kindOf(hook)),
        stateOf(hook),
        when(lastReceivedAt),
        isRefusing(hook) && noted(lastRefusal),
      )
    },
  }),
]

/** Chooses a vendor; then the address to paste. */
const connect = (): void => {
  const secret = field(
    'Signing secret',
    'secret',
    {},
    'Shown by the vendor, or chosen by you and entered there.',
  )
  const header = field('Header with the signature', 'header', { placeholder: 'X-Signature' })
  const prefix = field('What the signature begins with', 'prefix', { placeholder: 'sha256=' })
  const redirectTo = field(
    'Page that visitors see afterwards',
    'redirectTo',
    { type: 'url', placeholder: 'https://www.example.com/thanks' },
    'For a form: without it, visitors see code.',
  )
  const source = field(
    'Name of this source',
    'source',
    { required: true, maxlength: 100 },
    'Its activities show it.',
  )
  let isTyped = false
  let warned: string | undefined
  source.addEventListener('input', () => {
    isTyped = true
  })
  const vary = () => {
    const vendor = vendors.querySelector('select')?.value ?? ''
    const isOwn = vendor === 'token' || vendor === 'hmac'
    secret.hidden = vendor === 'token' || vendor === 'mailchimp'
    redirectTo.hidden = vendor !== 'token'
    header.hidden = prefix.hidden = vendor !== 'hmac'
    for (const label of [secret, header])
      label.querySelector('input')?.toggleAttribute('required', !label.hidden)
    const name = source.querySelector('input')
    if (name && !isTyped) name.value = isOwn ? '' : vendor
  }
  const vendors = choice('Who sends?', 'vendor', VENDORS, { onchange: vary })
  vary()
  openForm({
    title: 'Connect a source',
    done: 'The address of this source',
    action: 'Create the address',
    body: [vendors, source, secret, header, prefix, redirectTo],
    run: async ({ vendor, source, secret, header, prefix, redirectTo }) => {
      const isForm = vendor === 'token'
      const hmac = { algorithm: 'sha256', encoding: 'hex', header, ...(prefix && { prefix }) }
      const byVendor = vendor === 'hmac' ? { hmac, secret } : { preset: vendor, secret: secret || undefined }
      const body = {
        source,
        ...(isForm && { map: { email: ['/email'], name: ['/name'], idempotencyKey: ['/deliveryId'] } }),
        verify: isForm ? { token: true } : byVendor,
        // Scripts of that site may read the answer. A form of one's own may ask for a `website`, but not for this.
        ...(isForm && redirectTo && { redirectTo, origins: [new URL(redirectTo).origin], trap: 'website2' }),
      }
      const { items } = await get<Slice<Hook>>('/hooks', { limit: 100 })
      if (warned !== source && items.some((hook) => hook.source === source)) {
        warned = source
        throw new Error('There is a source of this name already. Press again to have two.')
      }
      const { value } = await call<Hook>('POST', '/hooks', { body })
      const address = addressIn(value)
      goTo(['sources', value.hookId])
      return [
        h(
          'p',
          `Paste this address ${isForm ? 'into your form or script' : 'where the vendor asks for a webhook URL'}.`,
        ),
        toCopy('Address', address),
        (isForm || vendor === 'mailchimp') && h('p.warning', 'It contains a secret and is shown only once.'),
        isForm && [
          h('p', 'For a form:'),
          toCopy(
            'A form',
            `<form method="post" action="${address}">\n  <label>Email <input name="email" type="email" required></label> <label>Name <input name="name"></label>${redirectTo && ' <input name="website2" hidden autocomplete="off">'} <button>Send</button>\n</form>`,
          ),
          h('p', 'Or in a terminal:'),
          toCopy(
            'A first delivery',
            `curl -s '${address}' -H 'content-type: application/json' -d '{"email":"ada@example.com","name":"Ada Lovelace"}'`,
          ),
        ],
        h('p.muted', 'Close this to watch the first delivery arrive.'),
      ]
    },
  })
}
