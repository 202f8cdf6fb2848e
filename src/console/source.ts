import type { Hook } from '../shapes/hook.ts'
import type { PresetName } from '../shapes/hook-rules.ts'
import type { ProspectLog } from '../shapes/prospect-log.ts'
import { baseUrl, call, can, get, path, pollOf, type Slice } from './api.ts'
import { isRefusing, noted } from './attention.ts'
import { askToDelete, field, hoursField, openForm } from './dialog.ts'
import { actions, addressOf, bdi, card, crumb, facts, goTo, h, refill, tag, time } from './dom.ts'
import { payloadShown } from './fields.ts'
import { isFormHook } from './forms.ts'
import { liveMark } from './live-mark.ts'
import { mappingEditor } from './mapping-editor.ts'
import { gated, idOf, toCopy } from './notices.ts'
import { itemTexts, memberOf } from './raw.ts'
import { repeat } from './repeat.ts'

/** Who can send to a hook. `token` and `hmac` are for all others without a preset. */
export const VENDORS: Readonly<Record<PresetName | 'form' | 'token' | 'hmac', string>> = {
  form: 'A form on your website',
  token: 'Zapier, n8n, Make, or a script',
  hmac: 'A vendor that signs with HMAC-SHA256',
  'cal.com': 'Cal.com',
  brevo: 'Brevo',
  calendly: 'Calendly',
  dropbox: 'Dropbox',
  github: 'GitHub',
  hubspot: 'HubSpot',
  intercom: 'Intercom',
  'lemon-squeezy': 'Lemon Squeezy',
  linkedin: 'LinkedIn',
  mailchimp: 'Mailchimp',
  meta: 'Meta',
  'microsoft-graph': 'Microsoft Graph',
  monday: 'monday.com',
  paddle: 'Paddle',
  sendgrid: 'SendGrid',
  shopify: 'Shopify',
  slack: 'Slack',
  'standard-webhooks': 'Standard Webhooks',
  stripe: 'Stripe',
  tally: 'Tally',
  typeform: 'Typeform',
  webflow: 'Webflow',
  woocommerce: 'WooCommerce',
  zendesk: 'Zendesk',
  zoom: 'Zoom',
}

export const addressOfHook = ({ url, path: hookPath }: Hook): string => url ?? `${baseUrl()}${hookPath}`

export const stateOf = (hook: Hook) => {
  if (hook.status === 'disabled') return tag('disabled')
  if (isRefusing(hook)) return tag('refusing', 'warning')
  return hook.lastReceivedAt ? tag('receiving', 'ok') : tag('waiting')
}

/** Who sends to a hook, as far as it is known. */
export const senderOf = (hook: Hook): string => {
  const { verify } = hook
  if (verify.preset) return isFormHook(hook) ? `${VENDORS[verify.preset]} form` : VENDORS[verify.preset]
  if (isFormHook(hook)) return 'Form'
  return verify.token ? 'Secret address' : 'Signed with HMAC'
}

/** Whether the address of a hook contains its secret. */
const hasSecretAddress = ({ verify }: Hook): boolean =>
  signsNothing(verify.preset ?? (verify.token ? 'token' : ''))

/** Whether a choice of `VENDORS` needs no secret. */
export const signsNothing = (vendor: string): boolean =>
  ['form', 'token', 'brevo', 'mailchimp', 'microsoft-graph', 'monday', 'sendgrid'].includes(vendor)

/** One hook: its address, whether it receives, its last delivery, and the resulting activity. */
export const sourceView = async (hookId: string, signal: AbortSignal) => {
  const url = path`/hooks/${hookId}`
  let hook = await get<Hook>(url, {}, signal)
  const mark = liveMark()
  const heading = h('div')
  const about = h('div')
  const buttons = actions()
  const last = h('div')
  const change = async (body: object): Promise<Hook> => {
    hook = (await call<Hook>('PATCH', url, { body })).value
    show()
    return hook
  }
  const show = (): void => {
    const { source, description, status, lastReceivedAt, lastRefusal, lastWarning } = hook
    const isEnabled = status === 'enabled'
    refill(heading, h('h1', bdi(source)), h('p.lead.muted', senderOf(hook), ' ', stateOf(hook)))
    refill(
      about,
      hasSecretAddress(hook)
        ? h('p.muted', 'The address was shown once. A new secret makes a new one.')
        : toCopy('Address', addressOfHook(hook)),
      facts({
        Note: bdi(description),
        'Last received': lastReceivedAt ? time(lastReceivedAt) : 'never',
        'Last refusal': noted(lastRefusal),
        'Last warning': noted(lastWarning),
        ID: idOf(hookId),
      }),
    )
    const toggleStatus = () => change({ status: isEnabled ? 'disabled' : 'enabled' })
    const sendAddress = addressOf(['webhooks'], { connect: 'hubspot', source })
    refill(
      buttons,
      can('webhooks:write') && h('a.button', { href: sendAddress }, 'Send to a CRM'),
      gated('hooks:write', isEnabled ? 'Disable' : 'Enable', toggleStatus),
      gated('hooks:write', 'New secret…', rotate),
      gated('hooks:write', 'Delete…', remove, { class: 'danger' }),
    )
  }
  const rotate = () => {
    const isNewAddress = hasSecretAddress(hook)
    openForm({
      title: isNewAddress ? 'A new address' : 'A new signing secret',
      action: 'Replace',
      body: [
        !isNewAddress && field('New signing secret', 'secret', { required: true }),
        hoursField('Hours until the old one expires'),
      ],
      run: async ({ secret, overlapHours }) => {
        const verify = { ...hook.verify, secret }
        const changed = await change({ verify, overlapHours: Number(overlapHours) })
        if (!isNewAddress) return
        return [h('p', 'The new address, shown only once:'), toCopy('Address', addressOfHook(changed))]
      },
    })
  }
  const remove = () =>
    askToDelete(
      hook.source,
      'What is sent there is refused. Activities that arrived before stay.',
      async () => {
        await call('DELETE', url)
        goTo(['sources'])
      },
    )
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
    if (log === undefined) {
      mapping.tryOn(null)
      refill(last, h('p.muted.empty', 'Waiting for the first delivery. It will appear here.'))
      return
    }
    const payload = memberOf(itemTexts(logs.text)[0] ?? '{}', 'payload')
    mapping.tryOn(payload)
    const href = addressOf(['activity', log.prospectLogId], { source: log.source })
    refill(
      last,
      h('h2', 'Last activity of this source, ', time(log.createdAt)),
      payloadShown(payload, h('a.button', { href }, 'Open activity')),
    )
  }
  show()
  void repeat({ signal, work, onState: mark.set })
  return [
    h('header', crumb('Forms & sources', 'sources'), heading, mark),
    card(about, buttons),
    card(last),
    mapping.element,
  ]
}
