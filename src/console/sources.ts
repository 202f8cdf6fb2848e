import type { Hook } from '../shapes/hook.ts'
import { call, get, type Slice } from './api.ts'
import { isRefusing, noted } from './attention.ts'
import { choice, field, openForm } from './dialog.ts'
import { actions, addressOf, type Child, goTo, h, rowLink, type View, when } from './dom.ts'
import { liveTable, row } from './lists.ts'
import { gated, toCopy } from './notices.ts'
import { type NamedPage, pagesToChoose } from './page-names.ts'
import { addressOfHook, kindOf, signsNothing, sourceView, stateOf, VENDORS } from './source.ts'

/** All hooks, to which vendors and forms send; or one hook. */
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
    heads: ['Source', 'State', 'Last received', 'Last problem'],
    none: 'Each delivery of a form or vendor becomes an activity.',
    rowOf: (hook) => {
      const { hookId, source, lastReceivedAt, lastRefusal, lastWarning } = hook
      return row(
        rowLink(addressOf(['sources', hookId]), source, kindOf(hook)),
        stateOf(hook),
        when(lastReceivedAt, 'nothing received yet'),
        noted(isRefusing(hook) ? lastRefusal : lastWarning),
      )
    },
  }),
]

/** Asks who sends, then shows the address to paste there. */
const connect = async (): Promise<void> => {
  const fields = connectFields(await pagesToChoose().catch(() => new Map()))
  let confirmedSource: string | undefined
  openForm({
    title: 'Connect a source',
    done: 'The address of this source',
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
const connectFields = (pages: ReadonlyMap<string, NamedPage>) => {
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
    const hasPreset = vendor !== 'token' && vendor !== 'hmac'
    secret.hidden = signsNothing(vendor)
    redirectTo.hidden = vendor !== 'token'
    pageId.hidden = vendor !== 'token' || pages.size === 0
    header.hidden = vendor !== 'hmac'
    prefix.hidden = vendor !== 'hmac'
    for (const label of [secret, header])
      label.querySelector('input')?.toggleAttribute('required', !label.hidden)
    const name = source.querySelector('input')
    if (name && !isNameTyped) name.value = hasPreset ? vendor : ''
  }
  const vendors = choice('Who sends?', 'vendor', VENDORS, { onchange: adapt })
  adapt()
  return [vendors, source, secret, header, prefix, redirectTo, pageId]
}

const newHook = (values: Readonly<Record<string, string>>) => {
  const { vendor, source, secret, header, prefix, redirectTo } = values
  if (vendor === 'token') {
    const map = { email: ['/email'], name: ['/name'], idempotencyKey: ['/deliveryId'] }
    const hook = { source, map, verify: { token: true }, fieldsAsAttributes: true }
    if (!redirectTo) return hook
    // Scripts of that site may read the answer. The trap is not `website`, because a form may really ask for that.
    return { ...hook, redirectTo, origins: [new URL(redirectTo).origin], trap: TRAP }
  }
  if (vendor === 'hmac') {
    const hmac = { algorithm: 'sha256', encoding: 'hex', header, prefix: prefix || undefined }
    return { source, verify: { hmac, secret } }
  }
  return { source, verify: { preset: vendor, secret: secret || undefined } }
}

/** A field that visitors do not see, so only robots fill it in. */
const TRAP = 'website2'

type Form = { readonly hasTrap: boolean; readonly pageId: string }
const addressShown = (vendor: string, address: string, form: Form): readonly Child[] => {
  const isForm = vendor === 'token'
  const target = isForm ? 'into your form or script' : 'where the vendor asks for a webhook URL'
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
      h('p', 'Or in a terminal:'),
      toCopy('A first delivery', curlExample(address)),
    ],
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
