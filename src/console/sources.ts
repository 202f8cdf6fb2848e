import type { Hook } from '../shapes/hook.ts'
import { call, get, type Slice } from './api.ts'
import { isRefusing, noted } from './attention.ts'
import { choice, field, openForm } from './dialog.ts'
import { actions, addressOf, type Child, goTo, h, replaceAddress, rowLink, type View, when } from './dom.ts'
import { FORM_TYPE } from './forms.ts'
import { liveTable, row } from './lists.ts'
import { gated, toCopy } from './notices.ts'
import { type NamedPage, pagesToChoose } from './page-names.ts'
import { addressOfHook, senderOf, signsNothing, sourceView, stateOf, VENDORS } from './source.ts'

/** All hooks, to which forms and vendors send; or one hook. An address with `connect` asks for a new one at once. */
export const view: View = ({ id, search }, signal) => {
  if (id) return sourceView(id, signal)
  const connected = search.get('connect')
  if (connected !== null) {
    replaceAddress(['sources'], {})
    void connect(Object.hasOwn(VENDORS, connected) ? connected : 'form')
  }
  return listView(signal)
}

const listView = async (signal: AbortSignal) => [
  h(
    'header',
    h(
      'div',
      h('h1', 'Forms & sources'),
      h('p.lead.muted', 'Where activities come from: forms, shops, and other tools.'),
    ),
    actions(
      gated('hooks:write', 'Connect another source', () => connect('token')),
      gated('hooks:write', 'Connect a form', () => connect('form'), { class: 'primary' }),
    ),
  ),
  await liveTable<Hook>({
    signal,
    path: '/hooks?limit=100',
    heads: ['Source', 'State', 'Last received', 'Last problem'],
    none: h(
      'p.muted.empty',
      'Nothing is connected yet. What a form or a tool sends becomes an activity of a person.',
    ),
    rowOf: (hook) => {
      const { hookId, source, lastReceivedAt, lastRefusal, lastWarning } = hook
      return row(
        rowLink(addressOf(['sources', hookId]), source, senderOf(hook)),
        stateOf(hook),
        when(lastReceivedAt, 'nothing received yet'),
        noted(isRefusing(hook) ? lastRefusal : lastWarning),
      )
    },
  }),
]

/** Asks who sends, then shows the address to paste there. */
const connect = async (vendor: string): Promise<void> => {
  const fields = connectFields(vendor, await pagesToChoose().catch(() => new Map()))
  let confirmedSource: string | undefined
  openForm({
    title: 'Connect a form or another source',
    done: 'Its address',
    action: 'Create the address',
    body: fields,
    run: async (values) => {
      const { vendor = '', source, redirectTo = '', pageId = '' } = values
      const { items } = await get<Slice<Hook>>('/hooks', { limit: 100 })
      if (confirmedSource !== source && items.some((hook) => hook.source === source)) {
        confirmedSource = source
        throw new Error('There is a source of this name already. Press again to have two.')
      }
      const { value } = await call<Hook>('POST', '/hooks', { body: newHook(values) })
      goTo(['sources', value.hookId])
      return addressShown(vendor, addressOfHook(value), { hasTrap: redirectTo !== '', pageId })
    },
  })
}

/** The fields of the form. Those that the chosen vendor does not need are hidden. */
const connectFields = (chosen: string, pages: ReadonlyMap<string, NamedPage>) => {
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
    'Without it, visitors see code.',
  )
  const pageNames = [...pages].map(([id, { name, groupName }]) => [id, `${name} (${groupName})`])
  const pageId = choice('Page that the form is on', 'pageId', {
    '': 'None of these, or several',
    ...Object.fromEntries(pageNames),
  })
  let isNameTyped = false
  const source = field(
    'Name of this source',
    'source',
    {
      required: true,
      maxlength: 100,
      oninput: () => {
        isNameTyped = true
      },
    },
    'Shown with each activity that it sends.',
  )
  const adapt = (): void => {
    const vendor = vendors.querySelector('select')?.value ?? ''
    const hasPreset = !['form', 'token', 'hmac'].includes(vendor)
    const isForm = vendor === 'form'
    secret.hidden = signsNothing(vendor)
    redirectTo.hidden = !isForm
    pageId.hidden = !isForm || pages.size === 0
    header.hidden = vendor !== 'hmac'
    prefix.hidden = vendor !== 'hmac'
    for (const label of [secret, header])
      label.querySelector('input')?.toggleAttribute('required', !label.hidden)
    const name = source.querySelector('input')
    if (name && !isNameTyped) name.value = hasPreset ? vendor : ''
  }
  const vendors = choice('Who sends?', 'vendor', VENDORS, { value: chosen, onchange: adapt })
  adapt()
  return [vendors, source, secret, header, prefix, redirectTo, pageId]
}

const newHook = (values: Readonly<Record<string, string>>) => {
  const { vendor, source, secret, header, prefix, redirectTo } = values
  const map = { email: ['/email'], name: ['/name'], idempotencyKey: ['/deliveryId'] }
  const hook = { source, verify: { token: true }, fieldsAsAttributes: true }
  if (vendor === 'token') return { ...hook, map: { ...map, type: ['/type'] } }
  if (vendor === 'form') {
    const form = { ...hook, map: { ...map, type: [`=${FORM_TYPE}`] } }
    if (!redirectTo) return form
    // Scripts of that site may read the answer. The trap is not `website`, because a form may really ask for that.
    return { ...form, redirectTo, origins: [new URL(redirectTo).origin], trap: TRAP }
  }
  if (vendor === 'hmac') {
    const hmac = { algorithm: 'sha256', encoding: 'hex', header, prefix: prefix || undefined }
    return { source, verify: { hmac, secret } }
  }
  return { source, verify: { preset: vendor, secret: secret || undefined } }
}

/** A field that visitors do not see, so only robots fill it in. */
const TRAP = 'website2'

/** Where the address is pasted. */
const TARGETS: Readonly<Record<string, string>> = {
  form: 'into your form',
  token: 'into your tool or script, which posts email, name and other fields there',
}

type Form = { readonly hasTrap: boolean; readonly pageId: string }
const addressShown = (vendor: string, address: string, form: Form): readonly Child[] => {
  const isForm = vendor === 'form'
  const target = TARGETS[vendor] ?? 'where the vendor asks for a webhook URL'
  const isSecret = signsNothing(vendor)
  return [
    h('p', `Paste this address ${target}.`),
    toCopy('Address', address),
    isSecret && h('p.warning', 'It contains a secret and is shown only once.'),
    isForm && [
      h('p', 'For a form:'),
      toCopy('A form', formExample(address, form)),
      !form.pageId && h('p.muted', 'To see which page brings people, add this to the form of each page:'),
      !form.pageId && toCopy('A field that names the page', pageField('page_…')),
    ],
    (isForm || vendor === 'token') &&
      h('details', h('summary', 'Try it in a terminal'), toCopy('A first delivery', curlExample(address))),
    h('p.muted', 'Close this to watch the first delivery arrive.'),
  ]
}

const pageField = (pageId: string): string => `<input type="hidden" name="pageId" value="${pageId}">`

const formExample = (address: string, { hasTrap, pageId }: Form): string => {
  const page = pageId && ` ${pageField(pageId)}`
  const trap = hasTrap ? ` <input name="${TRAP}" hidden autocomplete="off">` : ''
  return `<form method="post" action="${address}">\n  <label>Email <input name="email" type="email" required></label> <label>Name <input name="name"></label>${page}${trap} <button>Send</button>\n</form>`
}

const curlExample = (address: string): string =>
  `curl -s '${address}' -H 'content-type: application/json' -d '{"email":"ada@example.com","name":"Ada Lovelace"}'`
