import type { Hook } from '../shapes/hook.ts'
import { call } from './api.ts'
import { isRecent } from './attention.ts'
import { ask, gated, toCopy } from './dialog.ts'
import { h, rowLink, time } from './dom.ts'
import { choice, field } from './fields.ts'
import { addressIn, kindOf, stateOf, VENDORS } from './hook-state.ts'
import { liveTable } from './live-table.ts'
import { addressOf, type View } from './place.ts'
import { sourceView } from './source.ts'

/** Hooks: where vendors post to. */
export const view: View = (place, signal) => (place.id ? sourceView(place.id, signal) : listView(signal))

const listView = async (signal: AbortSignal) => [
  h(
    'header',
    {},
    h('h1', {}, 'Sources'),
    h('div.actions', {}, gated('hooks:write', 'Connect a source', connect, { class: 'primary' })),
  ),
  await liveTable<Hook>({
    signal,
    path: '/hooks?limit=100',
    heads: ['Source', 'State', 'Last received', 'Last refusal'],
    none: 'Connect a vendor, a form or a script: it gets an address to post to, and every delivery becomes an activity.',
    rowOf: (hook) => {
      const { hookId, source, lastReceivedAt, lastRefusal } = hook
      const refusal = lastRefusal && isRecent(hook) && [time(lastRefusal.at, true), `: ${lastRefusal.reason}`]
      return h(
        'tr',
        {},
        h('td', {}, rowLink(addressOf(['sources', hookId]), source, kindOf(hook))),
        h('td', {}, stateOf(hook)),
        h('td.when', {}, lastReceivedAt ? time(lastReceivedAt, true) : 'never'),
        h('td', {}, refusal),
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
    'Shown by the vendor next to the webhook, or chosen by you and entered there.',
  )
  const header = field('Header with the signature', 'header', { placeholder: 'X-Signature' })
  const prefix = field('What the signature begins with', 'prefix', { placeholder: 'sha256=' })
  const redirectTo = field(
    'Page that visitors see afterwards',
    'redirectTo',
    { type: 'url', placeholder: 'https://www.example.com/thanks' },
    'For a form without a script. Without this page its visitors see a line of JSON.',
  )
  const source = field(
    'Name of this source',
    'source',
    { required: true, maxlength: 100 },
    'The source of its activities.',
  )
  const vary = () => {
    const vendor = form.querySelector('select')?.value ?? ''
    const isByToken = vendor === 'token' || vendor === 'mailchimp'
    secret.hidden = isByToken
    redirectTo.hidden = vendor !== 'token'
    header.hidden = prefix.hidden = vendor !== 'hmac'
    for (const label of [secret, header])
      label.querySelector('input')?.toggleAttribute('required', !label.hidden)
    const name = source.querySelector('input')
    if (name && !('typed' in name.dataset)) name.value = vendor === 'token' || vendor === 'hmac' ? '' : vendor
  }
  source.addEventListener('input', ({ target }) =>
    (target as HTMLInputElement).setAttribute('data-typed', ''),
  )
  const form = h(
    'div.fields',
    {},
    choice('Who sends?', 'vendor', VENDORS, { onchange: vary }),
    source,
    secret,
    header,
    prefix,
    redirectTo,
  )
  vary()
  ask({
    title: 'Connect a source',
    done: 'The address of this source',
    action: 'Create the address',
    body: [form],
    run: async ({ vendor, source, secret, header, prefix, redirectTo }) => {
      const hmac = { algorithm: 'sha256', encoding: 'hex', header, ...(prefix && { prefix }) }
      const byVendor =
        vendor === 'hmac'
          ? { hmac, secret }
          : { preset: vendor, secret: vendor === 'mailchimp' ? undefined : secret }
      const verify = vendor === 'token' ? { token: true } : byVendor
      const map = vendor === 'token' ? { email: ['/email'], name: ['/name'] } : {}
      const isForm = vendor === 'token' && redirectTo
      const body = { source, verify, map, ...(isForm && { redirectTo }) }
      const { value } = await call<Hook>('POST', '/hooks', { body })
      location.hash = addressOf(['sources', value.hookId])
      return [
        h(
          'p',
          {},
          vendor === 'token'
            ? 'Paste this address into your form or script.'
            : 'Paste this address where the vendor asks for a webhook URL.',
        ),
        toCopy('Address', addressIn(value)),
        (value.verify.token || vendor === 'mailchimp') &&
          h('p.warning', {}, 'It contains a secret and is shown only once.'),
        vendor === 'token' && [
          h('p', {}, 'A form posts to it like this:'),
          toCopy(
            'A form',
            `<form method="post" action="${addressIn(value)}">\n  <input name="email" type="email" required> <input name="name"> <button>Send</button>\n</form>`,
          ),
          h('p', {}, 'To try it, paste this into a terminal.'),
          toCopy(
            'A first delivery',
            `curl -s '${addressIn(value)}' -H 'content-type: application/json' -d '{"email":"ada@example.com","name":"Ada Lovelace"}'`,
          ),
        ],
        h('p.muted', {}, 'Close this to watch the first delivery arrive.'),
      ]
    },
  })
}
