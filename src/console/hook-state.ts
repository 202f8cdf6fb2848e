import type { Hook } from '../shapes/hook.ts'
import type { PresetName } from '../shapes/hook-rules.ts'
import { baseUrl } from './api.ts'
import { isRecent } from './attention.ts'
import { h } from './dom.ts'

/** The display names of the vendors. `token` and `hmac` are for all others. */
export const VENDORS: Readonly<Record<PresetName | 'token' | 'hmac', string>> = {
  token: 'A form, a script, or a vendor that signs nothing',
  hmac: 'Another vendor that signs with HMAC-SHA256',
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

export const addressIn = ({ url, path: where }: Hook): string => url ?? `${baseUrl()}${where}`
export const stateOf = (hook: Hook) => {
  if (hook.status === 'disabled') return h('span.tag', {}, 'disabled')
  if (isRecent(hook)) return h('span.tag.warning', {}, 'refusing')
  return hook.lastReceivedAt ? h('span.tag.ok', {}, 'receiving') : h('span.tag', {}, 'waiting')
}
export const kindOf = ({ verify }: Hook): string =>
  verify.preset ? VENDORS[verify.preset] : verify.token ? 'secret address' : 'HMAC'
