import type { Hook } from '../shapes/hook.ts'
import { call, repeated, type Slice } from './api.ts'
import { isRecent } from './attention.ts'
import { ask, gated, toCopy } from './dialog.ts'
import { card, h, refill, table, time } from './dom.ts'
import { choice, field } from './fields.ts'
import { addressIn, kindOf, stateOf, VENDORS } from './hook-state.ts'
import { repeat } from './live.ts'
import { addressOf, type View } from './place.ts'
import { sourceView } from './source.ts'

const POLL_MS = 2_000

/** Hooks: where vendors post to. */
export const view: View = (place, signal) => (place.id ? sourceView(place.id, signal) : listView(signal))

const listView = async (signal: AbortSignal) => {
  const list = h('div')
  const poll = repeated<Slice<Hook>>('/hooks')
  const work = async (): Promise<void> => {
    const answer = await poll({ limit: 100 }, signal)
    if (answer === null) return
    const rows = answer.value.items.map((hook) =>
      h(
        'tr',
        {},
        h(
          'td',
          {},
          h(
            'a',
            { href: addressOf(['sources', hook.hookId]), 'data-row': true },
            h('b', {}, h('bdi', {}, hook.source)),
            h('small', {}, kindOf(hook)),
          ),
        ),
        h('td', {}, stateOf(hook)),
        h('td.when', {}, hook.lastReceivedAt ? time(hook.lastReceivedAt, true) : 'never'),
        h(
          'td',
          {},
          isRecent(hook) && [time(hook.lastRefusal?.at ?? '', true), `: ${hook.lastRefusal?.reason}`],
        ),
      ),
    )
    const none = h(
      'p.muted.empty',
      {},
      'Connect a vendor, a form or a script: it gets an address to post to, and every delivery becomes an activity.',
    )
    refill(list, rows.length > 0 ? table(['Source', 'State', 'Last received', 'Last refusal'], rows) : none)
  }
  await repeat({ signal, ms: POLL_MS, work })
  return [
    h(
      'header',
      {},
      h('h1', {}, 'Sources'),
      h('div.actions', {}, gated('hooks:write', 'Connect a source', connect, { class: 'primary' })),
    ),
    card(list),
  ]
}

/** Chooses a vendor; then the address to paste. */
const connect = (): void => {
  const secret = field(
    'Signing secret',
    'secret',
    {},
    'Shown by the vendor beside its webhook, or chosen by you and entered there.',
  )
  const header = field('Header with the signature', 'header', { placeholder: 'X-Signature' })
  const prefix = field('What the signature begins with', 'prefix', { placeholder: 'sha256=' })
  const source = field(
    'Name of this source',
    'source',
    { required: true, maxlength: 100 },
    'Its activities get this name as their source.',
  )
  const vary = () => {
    const vendor = form.querySelector('select')?.value ?? ''
    const isByToken = vendor === 'token' || vendor === 'mailchimp'
    secret.hidden = isByToken
    header.hidden = prefix.hidden = vendor !== 'hmac'
    for (const label of [secret, header])
      label.querySelector('input')?.toggleAttribute('required', !label.hidden)
    const name = source.querySelector('input')
    if (name && !name.dataset['typed']) name.value = vendor === 'token' || vendor === 'hmac' ? '' : vendor
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
  )
  vary()
  ask({
    title: 'Connect a source',
    done: 'The address of this source',
    action: 'Create the address',
    body: [form],
    run: async ({ vendor, source, secret, header, prefix }) => {
      const hmac = { algorithm: 'sha256', encoding: 'hex', header, ...(prefix && { prefix }) }
      const byVendor =
        vendor === 'hmac'
          ? { hmac, secret }
          : { preset: vendor, secret: vendor === 'mailchimp' ? undefined : secret }
      const verify = vendor === 'token' ? { token: true } : byVendor
      const map = vendor === 'token' ? { email: ['/email'], name: ['/name'] } : {}
      const { value } = await call<Hook>('POST', '/hooks', { body: { source, verify, map } })
      location.hash = addressOf(['sources', value.hookId])
      return [
        h(
          'p',
          {},
          'Let the sender post to this address: paste it where the vendor asks for the URL of a webhook.',
        ),
        toCopy('Address', addressIn(value)),
        (value.verify.token || vendor === 'mailchimp') &&
          h('p.warning', {}, 'It contains a secret, and is shown only now.'),
        vendor === 'token' && [
          h('p', {}, 'To try it, paste this into a terminal. A form posts its fields the same way.'),
          toCopy(
            'A first delivery',
            `curl -s '${addressIn(value)}' -H 'content-type: application/json' -d '{"email":"ada@example.com","name":"Ada Lovelace"}'`,
          ),
        ],
        h('p.muted', {}, 'Close this, and see the first delivery arrive.'),
      ]
    },
  })
}
