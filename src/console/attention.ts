import type { ErasureSlice } from '../shapes/erasure.ts'
import type { Hook } from '../shapes/hook.ts'
import type { PageSlice, PageWithVersion } from '../shapes/page.ts'
import type { PageGroupSlice } from '../shapes/page-group.ts'
import type { WebhookDelivery, WebhookEndpoint } from '../shapes/webhook.ts'
import { can, get, path, type Slice } from './api.ts'
import { type Child, counted, h, time } from './dom.ts'
import { addressOf } from './place.ts'

const DAY_MS = 86_400_000
/** What is looked at of pages: the newest of the newest groups. */
const GROUPS_MAX = 5
const PAGES_MAX = 4
const SLOW_MS = 60_000
/** When versions were first seen processing here. */
const processing = new Map<string, number>()

/** Something that needs a hand. */
type Item = {
  readonly mark: string
  readonly isBad: boolean
  readonly text: Child
  readonly href: string
  readonly open: string
  readonly view: string
}

const bold = (text: string) => h('b', {}, h('bdi', {}, text))
/** What went wrong last: the newest deliveries may not have been tried yet. */
export const lastErrorOf = async (url: string, signal: AbortSignal): Promise<string> => {
  const { items } = await get<Slice<WebhookDelivery>>(
    `${url}/deliveries`,
    { status: 'pending', limit: 100 },
    signal,
  )
  return items.find(({ lastError }) => lastError !== null)?.lastError ?? ''
}
/** A URL without what nobody needs to recognise it. */
export const shortUrl = (url: string): string => url.replace(/^https?:\/\//, '').slice(0, 60)
export const isRecent = (hook: Hook): boolean =>
  hook.lastRefusal !== null &&
  Date.now() - Date.parse(hook.lastRefusal.at) < DAY_MS &&
  hook.lastRefusal.at > (hook.lastReceivedAt ?? '')

const webhooks = async (signal: AbortSignal): Promise<Item[]> => {
  const { items } = await get<{ readonly items: readonly WebhookEndpoint[] }>(
    '/webhook_endpoints',
    {},
    signal,
  )
  const found = items.map(async (endpoint): Promise<Item[]> => {
    const { webhookEndpointId: id, url, status, disabledReason, failures, failingSince } = endpoint
    const to = { href: addressOf(['webhooks', id]), open: 'Open endpoint', view: 'webhooks' }
    const name = bold(shortUrl(url))
    if (status === 'disabled')
      return disabledReason
        ? [{ ...to, mark: 'disabled', isBad: true, text: [name, ` was disabled: ${disabledReason}`] }]
        : []
    if (failures > 0 && failingSince)
      return [
        {
          ...to,
          mark: 'failing',
          isBad: true,
          text: [
            name,
            failures === 1 ? ' failed ' : ` failed ${failures} times in a row, first `,
            time(failingSince, true),
            `: ${await lastErrorOf(path`/webhook_endpoints/${id}`, signal)}`,
          ],
        },
      ]
    const failed = await get<Slice<WebhookDelivery>>(
      path`/webhook_endpoints/${id}/deliveries`,
      { status: 'failed', limit: 1 },
      signal,
    )
    const [last] = failed.items
    return last
      ? [
          {
            ...to,
            mark: 'failed',
            isBad: true,
            text: ['A delivery to ', name, ' failed for good: ', last.lastError ?? ''],
          },
        ]
      : []
  })
  return (await Promise.all(found)).flat()
}
const sources = async (signal: AbortSignal): Promise<Item[]> => {
  const { items } = await get<Slice<Hook>>('/hooks', { limit: 100 }, signal)
  return items.filter(isRecent).map(({ hookId, source, lastRefusal }) => ({
    ...{
      mark: 'refused',
      isBad: false,
      href: addressOf(['sources', hookId]),
      open: 'Open source',
      view: 'sources',
    },
    text: [
      'A delivery of ',
      bold(source),
      ' was refused ',
      time(lastRefusal?.at ?? '', true),
      `: ${lastRefusal?.reason ?? ''}`,
    ],
  }))
}
const pages = async (signal: AbortSignal): Promise<Item[]> => {
  const groups = await get<PageGroupSlice>('/page_groups', { limit: GROUPS_MAX, status: 'active' }, signal)
  const found = groups.items.map(async ({ pageGroupId }) => {
    const { items } = await get<PageSlice>(
      path`/page_groups/${pageGroupId}/pages`,
      { limit: PAGES_MAX },
      signal,
    )
    const reads = items.map(({ pageId }) =>
      get<PageWithVersion>(path`/page_groups/${pageGroupId}/pages/${pageId}`, {}, signal),
    )
    return (await Promise.all(reads)).flatMap(({ pageId, effectiveName, latestVersion }): Item[] => {
      const { versionId, status, failureReason } = latestVersion
      const to = { href: addressOf(['pages', pageGroupId, pageId]), open: 'Open page', view: 'pages' }
      if (status === 'failed')
        return [
          {
            ...to,
            mark: 'failed',
            isBad: true,
            text: ['A version of ', bold(effectiveName), ` failed: ${failureReason}`],
          },
        ]
      const since = processing.get(versionId) ?? Date.now()
      if (status === 'processing') processing.set(versionId, since)
      if (status !== 'processing' || Date.now() - since < SLOW_MS) return []
      return [
        {
          ...to,
          mark: 'slow',
          isBad: false,
          text: ['A version of ', bold(effectiveName), ' is still being processed'],
        },
      ]
    })
  })
  return (await Promise.all(found)).flat()
}
const erasures = async (signal: AbortSignal): Promise<Item[]> => {
  const { items } = await get<ErasureSlice>('/erasures', { limit: 20 }, signal)
  return items
    .filter(({ status }) => status === 'processing')
    .map(({ requestedAt, prospectId, logsErased }) => ({
      ...{ mark: 'erasing', isBad: false, view: '' },
      text: [
        'A person is being erased, since ',
        time(requestedAt, true),
        `: ${counted(logsErased, 'activity', 'activities')} so far`,
      ],
      href: addressOf(['people', prospectId ?? '']),
      open: 'Open person',
    }))
}
const CHECKS = [
  { scopes: ['webhooks:write'], name: 'webhooks', check: webhooks },
  { scopes: ['hooks:write'], name: 'sources', check: sources },
  { scopes: ['page_groups:read', 'pages:read'], name: 'pages', check: pages },
  { scopes: ['prospects:erase'], name: 'erasures', check: erasures },
] as const

/** Everything that needs attention, as far as the key may see it. */
export const attentionIn = async (signal: AbortSignal): Promise<readonly Node[]> => {
  const seen = CHECKS.filter(({ scopes }) => scopes.every(can))
  const results = await Promise.allSettled(seen.map(({ check }) => check(signal)))
  const items = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  const failed = seen.filter((_, i) => results[i]?.status === 'rejected').map(({ name }) => name)
  for (const link of document.querySelectorAll<HTMLElement>('nav a[data-view]')) {
    const count = items.filter(({ view }) => view === link.dataset['view']).length
    link.querySelector('.badge')?.remove()
    if (count > 0) link.append(h('span.badge', { 'aria-label': `${count} need attention` }, count))
  }
  const unseen = CHECKS.filter((check) => !seen.includes(check)).map(({ name }) => name)
  if (items.length === 0 && unseen.length === CHECKS.length) return []
  const rows = items.map(({ mark, isBad, text, href, open }) =>
    h(
      'li',
      {},
      h(isBad ? 'span.tag.bad' : 'span.tag.warning', {}, mark),
      h('span', {}, text),
      h('a', { href }, open),
    ),
  )
  const isCalm = items.length === 0 && failed.length === 0
  const calm = isCalm && h('p.calm', {}, 'Nothing needs attention.')
  const partly = [
    unseen.length > 0 && `This key cannot see ${unseen.join(', ')}. `,
    failed.length > 0 && `Not known just now: ${failed.join(', ')}.`,
  ].filter(Boolean)
  const note = partly.length > 0 && h('p.muted.note', {}, partly)
  return [
    h('h2.label', {}, 'Needs attention'),
    h('div.card', {}, calm, rows.length > 0 && h('ul.attention', {}, rows), note),
  ]
}
