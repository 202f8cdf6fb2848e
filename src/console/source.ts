import type { Hook } from '../shapes/hook.ts'
import type { PresetName } from '../shapes/hook-rules.ts'
import type { ProspectLog } from '../shapes/prospect-log.ts'
import { baseUrl, call, can, get, path, pollOf, type Slice } from './api.ts'
import { isRefusing, noted } from './attention.ts'
import { askToDelete, field, hoursField, openForm } from './dialog.ts'
import { actions, addressOf, bdi, card, crumb, facts, goTo, h, refill, tag, time } from './dom.ts'
import { liveMark } from './live-mark.ts'
import { mappingEditor } from './mapping-editor.ts'
import { gated, idOf, json, toCopy } from './notices.ts'
import { itemTexts, memberOf } from './raw.ts'
import { repeat } from './repeat.ts'

/** The display names of the vendors. `token` and `hmac` are for all others. */
export const VENDORS: Readonly<Record<PresetName | 'token' | 'hmac', string>> = {
  token: 'A form, a script, or a vendor that signs nothing',
  hmac: 'Another vendor that signs with HMAC-SHA256',
  'cal.com': 'Cal.com',
  calendly: 'Calendly',
  github: 'GitHub',
  hubspot: 'HubSpot',
  intercom: 'Intercom',
  'lemon-squeezy': 'Lemon Squeezy',
  mailchimp: 'Mailchimp',
  meta: 'Meta',
  paddle: 'Paddle',
  shopify: 'Shopify',
  slack: 'Slack',
  'standard-webhooks': 'Standard Webhooks',
  stripe: 'Stripe',
  tally: 'Tally',
  typeform: 'Typeform',
  webflow: 'Webflow',
  woocommerce: 'WooCommerce',
  zendesk: 'Zendesk',
}
export const addressIn = ({ url, path: where }: Hook): string => url ?? `${baseUrl()}${where}`
export const stateOf = (hook: Hook) => {
  if (hook.status === 'disabled') return tag('disabled')
  if (isRefusing(hook)) return tag('refusing', 'warning')
  return hook.lastReceivedAt ? tag('receiving', 'ok') : tag('waiting')
}
export const kindOf = ({ verify }: Hook): string =>
  verify.preset ? VENDORS[verify.preset] : verify.token ? 'secret address' : 'HMAC'

/** One hook: its address, whether it receives, its last delivery, and the resulting activity. */
export const sourceView = async (hookId: string, signal: AbortSignal) => {
  const url = path`/hooks/${hookId}`
  let hook = await get<Hook>(url, {}, signal)
  const mark = liveMark()
  const heading = h('div')
  const about = h('div')
  const buttons = actions()
  const last = h('div')
  const isByToken = () => hook.verify.token === true || hook.verify.preset === 'mailchimp'
  const change = async (body: object): Promise<Hook> => {
    hook = (await call<Hook>('PATCH', url, { body })).value
    show()
    return hook
  }
  const show = (): void => {
    const { source, description, status, lastReceivedAt, lastRefusal, lastWarning } = hook
    const isEnabled = status === 'enabled'
    refill(heading, h('h1', bdi(source)), h('p.lead.muted', kindOf(hook), ' ', stateOf(hook)))
    refill(
      about,
      isByToken()
        ? h('p.muted', 'The address was shown once. A new secret makes a new one.')
        : toCopy('Address', addressIn(hook)),
      facts({
        Note: bdi(description),
        'Last received': lastReceivedAt ? time(lastReceivedAt) : 'never',
        'Last refusal': noted(lastRefusal),
        'Last warning': noted(lastWarning),
        Id: idOf(hookId),
      }),
    )
    refill(
      buttons,
      gated('hooks:write', isEnabled ? 'Disable' : 'Enable', () =>
        change({ status: isEnabled ? 'disabled' : 'enabled' }),
      ),
      gated('hooks:write', 'New secret…', rotate),
      gated('hooks:write', 'Delete…', remove, { class: 'danger' }),
    )
  }
  const rotate = () => {
    const byToken = isByToken()
    openForm({
      title: byToken ? 'A new address' : 'A new signing secret',
      action: 'Replace',
      body: [
        !byToken && field('New signing secret', 'secret', { required: true }),
        hoursField('Hours until the old one expires'),
      ],
      run: async ({ secret, overlapHours }) => {
        const verify = { ...hook.verify, secret }
        const value = await change({ verify, overlapHours: Number(overlapHours) })
        if (!byToken) return
        return [h('p', 'The new address, shown only once:'), toCopy('Address', addressIn(value))]
      },
    })
  }
  const remove = () =>
    askToDelete(hook.source, 'Deliveries are refused. Its activities stay.', async () => {
      await call('DELETE', url)
      goTo(['sources'])
    })
  const mapping = mappingEditor(() => hook, change)
  const poll = pollOf<Hook>(url)
  const pollLogs = pollOf<Slice<ProspectLog>>('/prospect_logs')
  const work = async (): Promise<void> => {
    const answer = await poll({}, signal)
    if (answer) {
      hook = answer.value
      show()
      mapping.follow()
    }
    const logs = can('prospect_logs:read') ? await pollLogs({ source: hook.source, limit: 1 }, signal) : null
    if (logs === null) return
    const [log] = logs.value.items
    const payload = memberOf(itemTexts(logs.text)[0] ?? '{}', 'payload')
    mapping.tryOn(log ? payload : null)
    const open = (id: string, source: string) =>
      h('a.button', { href: addressOf(['activity', id], { source }) }, 'Open activity')
    refill(
      last,
      log
        ? [
            h('h2', 'Last activity of this source, ', time(log.createdAt)),
            json('Payload', payload, open(log.prospectLogId, log.source)),
          ]
        : h('p.muted.empty', 'Waiting for the first delivery. It will appear here.'),
    )
  }
  show()
  void repeat({ signal, work, onState: mark.set })
  return [
    h('header', crumb('Sources', 'sources'), heading, mark),
    card(about, buttons),
    card(last),
    mapping.element,
  ]
}
