import { findInJson, pointerTree } from '../json/find-in-json.ts'
import type { Hook } from '../shapes/hook.ts'
import type { PresetName } from '../shapes/hook-rules.ts'
import type { ProspectLog } from '../shapes/prospect-log.ts'
import { baseUrl, call, can, get, itemTexts, memberOf, path, repeated, type Slice } from './api.ts'
import { isRecent } from './attention.ts'
import { ask, attempt, choice, field, gated, idOf, tell, toCopy } from './dialog.ts'
import { card, code, facts, h, pretty, table, time } from './dom.ts'
import { liveMark, repeat } from './live.ts'
import { addressOf, type View } from './place.ts'

const POLL_MS = 2_000
/** What people call the vendors. `token` and `hmac` are for all others. */
const VENDORS: Readonly<Record<PresetName | 'token' | 'hmac', string>> = {
  token: 'A form, a script, or a vendor that signs nothing',
  hmac: 'Another vendor that signs with HMAC SHA-256',
  ...{
    'cal.com': 'Cal.com',
    calendly: 'Calendly',
    github: 'GitHub',
    hubspot: 'HubSpot',
    intercom: 'Intercom',
  },
  ...{
    'lemon-squeezy': 'Lemon Squeezy',
    mailchimp: 'Mailchimp',
    meta: 'Meta',
    paddle: 'Paddle',
    shopify: 'Shopify',
  },
  ...{ slack: 'Slack', 'standard-webhooks': 'Standard Webhooks', stripe: 'Stripe', tally: 'Tally' },
  ...{ typeform: 'Typeform', webflow: 'Webflow', woocommerce: 'WooCommerce', zendesk: 'Zendesk' },
}
const MEMBERS = ['type', 'email', 'name', 'occurredAt', 'idempotencyKey'] as const
type Member = (typeof MEMBERS)[number]

/** Hooks: where vendors post to. */
export const sourcesView: View = (place, signal) =>
  place.id ? sourceView(place.id, signal) : listView(signal)

const addressIn = ({ url, path: where }: Hook): string => url ?? `${baseUrl()}${where}`
const stateOf = (hook: Hook) => {
  if (hook.status === 'disabled') return h('span.tag', {}, 'disabled')
  if (isRecent(hook)) return h('span.tag.warning', {}, 'refusing')
  return hook.lastReceivedAt ? h('span.tag.ok', {}, 'receiving') : h('span.tag', {}, 'waiting')
}
const kindOf = ({ verify }: Hook): string =>
  verify.preset ? VENDORS[verify.preset] : verify.token ? 'secret address' : 'HMAC'

const listView = (signal: AbortSignal) => {
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
    list.replaceChildren(
      rows.length > 0 ? table(['Source', 'State', 'Last received', 'Last refusal'], rows) : none,
    )
  }
  void repeat({ signal, ms: POLL_MS, work })
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
    'Its activities have it as their source.',
  )
  const vary = () => {
    const vendor = form.querySelector('select')?.value ?? ''
    const isByToken = vendor === 'token' || vendor === 'mailchimp'
    secret.hidden = isByToken
    header.hidden = prefix.hidden = vendor !== 'hmac'
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
        h('p', {}, 'Paste this address into the form of the vendor:'),
        toCopy('Address', addressIn(value)),
        (value.verify.token || vendor === 'mailchimp') &&
          h('p.warning', {}, 'It contains a secret, and is shown only now.'),
        h('p.muted', {}, 'Close this, and see the first delivery arrive.'),
      ]
    },
  })
}

const sourceView = async (hookId: string, signal: AbortSignal) => {
  const url = path`/hooks/${hookId}`
  let hook = await get<Hook>(url, {}, signal)
  const mark = liveMark()
  const heading = h('div')
  const about = h('div')
  const buttons = h('div.actions')
  const last = h('div')
  const change = async (body: object): Promise<Hook> => {
    const { value } = await call<Hook>('PATCH', url, { body })
    hook = value
    show()
    return value
  }
  const show = (): void => {
    const { source, description, status, lastReceivedAt, lastRefusal, verify } = hook
    const isEnabled = status === 'enabled'
    heading.replaceChildren(
      h('h1', {}, h('bdi', {}, source)),
      h('p.lead.muted', {}, kindOf(hook), ' ', stateOf(hook)),
    )
    const refusal = lastRefusal && [
      time(lastRefusal.at, true),
      ': ',
      h('span.warning', {}, lastRefusal.reason),
    ]
    about.replaceChildren(
      verify.token || verify.preset === 'mailchimp'
        ? h('p.muted', {}, 'Its address was shown when it was created. A new one replaces it.')
        : toCopy('Address', addressIn(hook)),
      facts({
        Note: description && h('bdi', {}, description),
        'Last received': lastReceivedAt ? time(lastReceivedAt, true) : 'never',
        'Last refusal': refusal,
        Id: idOf(hookId),
      }),
    )
    buttons.replaceChildren(
      gated('hooks:write', isEnabled ? 'Disable' : 'Enable', () =>
        attempt(() => change({ status: isEnabled ? 'disabled' : 'enabled' })),
      ),
      gated('hooks:write', 'Rotate…', rotate),
      gated('hooks:write', 'Delete…', remove, { class: 'danger' }),
    )
  }
  const rotate = () => {
    const { verify } = hook
    const isByToken = verify.token === true || verify.preset === 'mailchimp'
    const hours = field('For how many hours does the old one stay valid?', 'overlapHours', {
      type: 'number',
      min: 0,
      max: 168,
      value: 24,
      required: true,
    })
    ask({
      title: isByToken ? 'A new address' : 'A new signing secret',
      action: 'Rotate',
      body: [isByToken ? null : field('New signing secret', 'secret', { required: true }), hours],
      run: async ({ secret, overlapHours }) => {
        const value = await change({ verify: { ...verify, secret }, overlapHours: Number(overlapHours) })
        return isByToken
          ? [h('p', {}, 'The new address, shown only now:'), toCopy('Address', addressIn(value))]
          : undefined
      },
    })
  }
  const remove = () =>
    ask({
      title: `Delete ${hook.source}`,
      action: 'Delete',
      isDanger: true,
      body: [h('p', {}, 'The vendor gets 404 from now on. Its activities stay.')],
      run: async () => {
        await call('DELETE', url)
        location.hash = addressOf(['sources'])
        return undefined
      },
    })
  const mapping = mappingOf(() => hook, change)
  const poll = repeated<Hook>(url)
  const pollLogs = repeated<Slice<ProspectLog>>('/prospect_logs')
  const work = async (): Promise<void> => {
    const answer = await poll({}, signal)
    if (answer) hook = answer.value
    if (answer) show()
    const logs = can('prospect_logs:read') ? await pollLogs({ source: hook.source, limit: 1 }, signal) : null
    if (logs === null) return
    const [log] = logs.value.items
    const payload = memberOf(itemTexts(logs.text)[0] ?? '{}', 'payload')
    mapping.tryOn(log ? payload : null)
    last.replaceChildren(
      log
        ? h(
            'div',
            {},
            h('h2', {}, 'Last delivery, ', time(log.createdAt, true)),
            code(pretty(payload), 'Payload'),
            h(
              'div.actions',
              {},
              h(
                'a.button',
                { href: addressOf(['activity', log.prospectLogId], { source: log.source }) },
                'Open activity',
              ),
            ),
          )
        : h('p.muted.empty', {}, 'Waiting for the first delivery. It appears here by itself.'),
    )
  }
  show()
  void repeat({ signal, ms: POLL_MS, work, onAway: (isAway) => mark.set(isAway ? 'away' : 'live') })
  return [
    h('header', {}, h('a.crumbs', { href: addressOf(['sources']) }, 'Sources'), heading, mark),
    card(about, buttons),
    card(last),
    mapping.element,
  ]
}

/** Where the members of an activity are found: tried on the last delivery while it is edited. */
const mappingOf = (hookNow: () => Hook, change: (body: object) => Promise<Hook>) => {
  let payload: string | null = null
  const inputs = new Map<Member, { readonly input: HTMLInputElement; readonly found: HTMLElement }>()
  const placesIn = (member: Member): string[] =>
    inputs.get(member)?.input.value.split(/\s+/).filter(Boolean) ?? []
  /** Empty at the whole body, which is never a member. */
  const tryMember = (member: Member): string => {
    const places = placesIn(member)
    if (places.length === 0) return member === 'type' ? 'webhook' : 'left out'
    if (payload === null) return 'tried once something has arrived'
    const text = payload
    for (const place of places) {
      if (!place.startsWith('/'))
        return place === 'sha256'
          ? 'the hash of the body'
          : `from the ${place.replace(':', ' ')}, which is not kept`
      const value = findInJson(text, pointerTree([place])).get(place)
      if (value !== undefined && /^("(?!")|-?\d)/.test(value)) return value
    }
    return 'nothing there: left out'
  }
  const tryAll = (): void => {
    for (const [member, { found }] of inputs) found.textContent = tryMember(member)
  }
  const rows = MEMBERS.map((member) => {
    const value = (hookNow().map[member] ?? []).join(' ')
    const input = h('input', {
      name: member,
      value,
      oninput: tryAll,
      'aria-label': `Places of ${member}`,
      spellcheck: 'false',
    })
    const found = h('output.mono', {}, '')
    inputs.set(member, { input, found })
    return h('tr', {}, h('td', {}, member), h('td', {}, input), h('td', {}, h('bdi', {}, found)))
  })
  const save = () =>
    attempt(async () => {
      await change({ map: Object.fromEntries(MEMBERS.map((member) => [member, placesIn(member)])) })
      tell('Saved. It counts from the next delivery on.')
    })
  tryAll()
  const hint =
    'JSON Pointers such as /data/email, or header:name, separated by spaces. The first that leads to a text or a number wins.'
  const element = h(
    'section',
    {},
    h('h2.label', {}, 'Mapping'),
    card(
      h('p.muted', {}, hint),
      table(['Member', 'Places', 'In the last delivery'], rows),
      h('div.actions', {}, gated('hooks:write', 'Save the mapping', save)),
    ),
  )
  return {
    element,
    tryOn: (text: string | null): void => {
      payload = text
      tryAll()
    },
  }
}
