import { findInJson, pointerTree } from '../json/find-in-json.ts'
import type { Hook } from '../shapes/hook.ts'
import type { ProspectLog } from '../shapes/prospect-log.ts'
import { call, can, get, itemTexts, memberOf, path, repeated, type Slice } from './api.ts'
import { ask, askToDelete, attempt, field, gated, idOf, tell, toCopy } from './dialog.ts'
import { card, code, facts, h, pretty, refill, table, time } from './dom.ts'
import { addressIn, kindOf, stateOf } from './hook-state.ts'
import { liveMark, repeat } from './live.ts'
import { addressOf } from './place.ts'

const POLL_MS = 2_000
const MEMBERS = ['type', 'email', 'name', 'occurredAt', 'idempotencyKey'] as const
type Member = (typeof MEMBERS)[number]

/** One hook: its address, whether it receives, what arrived last, and what becomes of it. */
export const sourceView = async (hookId: string, signal: AbortSignal) => {
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
    refill(
      heading,
      h('h1', {}, h('bdi', {}, source)),
      h('p.lead.muted', {}, kindOf(hook), ' ', stateOf(hook)),
    )
    const refusal = lastRefusal && [
      time(lastRefusal.at, true),
      ': ',
      h('span.warning', {}, lastRefusal.reason),
    ]
    refill(
      about,
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
    refill(
      buttons,
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
    askToDelete(hook.source, 'The vendor gets 404 from now on. Its activities stay.', async () => {
      await call('DELETE', url)
      location.hash = addressOf(['sources'])
    })
  const mapping = mappingOf(() => hook, change)
  const poll = repeated<Hook>(url)
  const pollLogs = repeated<Slice<ProspectLog>>('/prospect_logs')
  const work = async (): Promise<void> => {
    const answer = await poll({}, signal)
    if (answer) {
      const { lastReceivedAt: seen } = hook
      const { lastReceivedAt: now } = answer.value
      // What the server says may be ten seconds old.
      hook = { ...answer.value, lastReceivedAt: (seen ?? '') > (now ?? '') ? seen : now }
    }
    if (answer) show()
    const logs = can('prospect_logs:read') ? await pollLogs({ source: hook.source, limit: 1 }, signal) : null
    if (logs === null) return
    const [log] = logs.value.items
    const payload = memberOf(itemTexts(logs.text)[0] ?? '{}', 'payload')
    mapping.tryOn(log ? payload : null)
    if (log && log.createdAt > (hook.lastReceivedAt ?? '')) {
      hook = { ...hook, lastReceivedAt: log.createdAt }
      show()
    }
    refill(
      last,
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
  void repeat({ signal, ms: POLL_MS, work, onState: mark.set })
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
    const fallback = member === 'type' ? 'webhook' : 'left out'
    const wrong = places.find(
      (place) => !/^(\/|header:.)/.test(place) && (member !== 'idempotencyKey' || place !== 'sha256'),
    )
    if (wrong) return `${wrong} is no place: begin with / or header:`
    if (places.length === 0) return fallback
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
    return `nothing there: ${fallback}`
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
