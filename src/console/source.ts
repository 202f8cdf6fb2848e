import type { Hook } from '../shapes/hook.ts'
import type { ProspectLog } from '../shapes/prospect-log.ts'
import { call, can, get, itemTexts, memberOf, path, repeated, type Slice } from './api.ts'
import { ask, askToDelete, attempt, gated, idOf, toCopy } from './dialog.ts'
import { card, facts, h, refill, time } from './dom.ts'
import { field } from './fields.ts'
import { addressIn, kindOf, stateOf } from './hook-state.ts'
import { code, pretty } from './json-view.ts'
import { liveMark, repeat } from './live.ts'
import { mappingOf } from './mapping.ts'
import { addressOf } from './place.ts'

const POLL_MS = 2_000

/** One hook: its address, whether it receives, its last delivery, and the resulting activity. */
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
    const { source, description, status, lastReceivedAt, lastRefusal, lastWarning, verify } = hook
    const isEnabled = status === 'enabled'
    refill(
      heading,
      h('h1', {}, h('bdi', {}, source)),
      h('p.lead.muted', {}, kindOf(hook), ' ', stateOf(hook)),
    )
    const noted = (seen: Hook['lastRefusal']) =>
      seen && [time(seen.at, true), ': ', h('span.warning', {}, seen.reason)]
    refill(
      about,
      verify.token || verify.preset === 'mailchimp'
        ? h('p.muted', {}, 'The address was shown once, when it was created. Rotate to get a new one.')
        : toCopy('Address', addressIn(hook)),
      facts({
        Note: description && h('bdi', {}, description),
        'Last received': lastReceivedAt ? time(lastReceivedAt, true) : 'never',
        'Last refusal': noted(lastRefusal),
        'Last warning': noted(lastWarning),
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
    const hours = field('Hours until the old one expires', 'overlapHours', {
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
          ? [h('p', {}, 'The new address, shown only once:'), toCopy('Address', addressIn(value))]
          : undefined
      },
    })
  }
  const remove = () =>
    askToDelete(hook.source, 'The vendor will get 404. Its activities stay.', async () => {
      await call('DELETE', url)
      location.hash = addressOf(['sources'])
    })
  const mapping = mappingOf(() => hook, change)
  const poll = repeated<Hook>(url)
  const pollLogs = repeated<Slice<ProspectLog>>('/prospect_logs')
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
    refill(
      last,
      log
        ? h(
            'div',
            {},
            h('h2', {}, 'Last activity of this source, ', time(log.createdAt, true)),
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
        : h('p.muted.empty', {}, 'Waiting for the first delivery. It will appear here.'),
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
