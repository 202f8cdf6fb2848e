import type { ErasureSlice } from '../shapes/erasure.ts'
import type { Hook } from '../shapes/hook.ts'
import type { Page, PageSlice, PageWithVersion } from '../shapes/page.ts'
import type { PageGroup, PageGroupSlice } from '../shapes/page-group.ts'
import type { WebhookEndpoint } from '../shapes/webhook.ts'
import type { WebhookDelivery } from '../shapes/webhook-delivery.ts'
import { can, get, path, type Slice } from './api.ts'
import { addressOf, bdi, type Child, card, counted, h, tag, time } from './dom.ts'

const DAY_MS = 86_400_000
/** Limits of the pages that are checked: the newest of the newest groups. */
const GROUPS_MAX = 5
const PAGES_MAX = 4
const SLOW_MS = 60_000
/** When versions were first seen processing here. */
const processing = new Map<string, number>()

/** A problem that needs attention, and the place to solve it. */
type Item = {
  readonly mark: keyof typeof MARKS
  readonly at: readonly [view: string, ...ids: string[]]
  readonly text: Child
}
const MARKS = {
  disabled: 'bad',
  failing: 'bad',
  failed: 'bad',
  refused: 'warning',
  slow: 'warning',
  erasing: '',
} as const
/** The text of the link to it, by view. */
const OPEN: Readonly<Record<string, string>> = {
  webhooks: 'Open endpoint',
  sources: 'Open source',
  pages: 'Open page',
  people: 'Open person',
}

const bold = (text: string) => h('b', bdi(text))
/** A URL without the parts that are not needed to recognize it. */
export const shortUrl = (url: string): string => url.replace(/^https?:\/\//, '').slice(0, 60)
/** When something was the matter, and what. */
export const noted = (seen: Hook['lastRefusal']): Child =>
  seen && [time(seen.at), ': ', h('span.warning', seen.reason)]
export const isRecent = (hook: Hook): boolean =>
  hook.lastRefusal !== null &&
  Date.now() - Date.parse(hook.lastRefusal.at) < DAY_MS &&
  hook.lastRefusal.at > (hook.lastReceivedAt ?? '')

/** Since when an endpoint fails, and why. */
export const whyFailing = ({ failures, failingSince, lastError }: WebhookEndpoint): Child =>
  lastError && [
    failures > 1
      ? `failed ${failures} times in a row, first `
      : failures
        ? 'failed '
        : 'gets nothing, since ',
    time(failingSince ?? lastError.at),
    ': ',
    h('span.bad', bdi(lastError.reason)),
  ]
const webhooks = async (signal: AbortSignal): Promise<Item[]> => {
  const { items } = await get<Pick<Slice<WebhookEndpoint>, 'items'>>('/webhook_endpoints', {}, signal)
  const check = async (endpoint: WebhookEndpoint): Promise<Item[]> => {
    const { webhookEndpointId: id, url, status, disabledReason, lastError } = endpoint
    const api = path`/webhook_endpoints/${id}`
    const at = ['webhooks', id] as const
    const name = bold(shortUrl(url))
    if (status === 'disabled' && disabledReason === null) return []
    if (status === 'disabled')
      return [{ mark: 'disabled', at, text: [name, ' was disabled: ', disabledReason] }]
    if (lastError) return [{ mark: 'failing', at, text: [name, ' ', whyFailing(endpoint)] }]
    const query = { status: 'failed', limit: 1 }
    const failed = await get<Slice<WebhookDelivery>>(`${api}/deliveries`, query, signal)
    return failed.items.map(({ lastError }) => ({
      mark: 'failed',
      at,
      text: ['A delivery to ', name, ' failed for good: ', lastError],
    }))
  }
  return (await Promise.all(items.map(check))).flat()
}
const sources = async (signal: AbortSignal): Promise<Item[]> => {
  const { items } = await get<Slice<Hook>>('/hooks', { limit: 100 }, signal)
  return items.filter(isRecent).map(({ hookId, source, lastRefusal }) => ({
    mark: 'refused',
    at: ['sources', hookId],
    text: ['A delivery of ', bold(source), ' was refused ', noted(lastRefusal)],
  }))
}
const pages = async (signal: AbortSignal): Promise<Item[]> => {
  const groups = await get<PageGroupSlice>('/page_groups', { limit: GROUPS_MAX, status: 'active' }, signal)
  const check = async ({ pageGroupId }: PageGroup): Promise<Item[]> => {
    const url = path`/page_groups/${pageGroupId}/pages`
    const { items } = await get<PageSlice>(url, { limit: PAGES_MAX }, signal)
    const read = ({ pageId }: Page) => get<PageWithVersion>(`${url}${path`/${pageId}`}`, {}, signal)
    return (await Promise.all(items.map(read))).flatMap(
      ({ pageId, effectiveName, latestVersion }): Item[] => {
        const { versionId, status, failureReason } = latestVersion
        const at = ['pages', pageGroupId, pageId] as const
        const version = ['A version of ', bold(effectiveName)]
        if (status === 'failed') return [{ mark: 'failed', at, text: [version, ` failed: ${failureReason}`] }]
        if (status !== 'processing') return []
        const since = processing.get(versionId) ?? Date.now()
        processing.set(versionId, since)
        return Date.now() - since < SLOW_MS
          ? []
          : [{ mark: 'slow', at, text: [version, ' is still being processed'] }]
      },
    )
  }
  return (await Promise.all(groups.items.map(check))).flat()
}
const erasures = async (signal: AbortSignal): Promise<Item[]> => {
  const { items } = await get<ErasureSlice>('/erasures', { limit: 20 }, signal)
  const running = items.filter(({ status }) => status === 'processing')
  return running.map(({ requestedAt, prospectId, logsErased }) => {
    const soFar = `: ${counted(logsErased, 'activity', 'activities')} so far`
    const text = ['A person is being erased, since ', time(requestedAt), soFar]
    return { mark: 'erasing', at: ['people', prospectId ?? ''], text }
  })
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
    const isCounted = ({ mark, at: [view] }: Item) => mark !== 'erasing' && view === link.dataset['view']
    const count = items.filter(isCounted).length
    link.querySelector('.badge')?.remove()
    if (count > 0) link.append(h('span.badge', { 'aria-label': `${count} need attention` }, count))
  }
  const unseen = CHECKS.filter((check) => !seen.includes(check)).map(({ name }) => name)
  if (items.length === 0 && unseen.length === CHECKS.length) return []
  const rows = items.map(({ mark, at, text }) =>
    h('li', tag(mark, MARKS[mark]), h('span', text), h('a', { href: addressOf(at) }, OPEN[at[0]])),
  )
  const note = [
    unseen.length > 0 && `This key cannot see ${unseen.join(', ')}. `,
    failed.length > 0 && `Could not check ${failed.join(', ')}.`,
  ]
  return [
    h('h2.label', 'Needs attention'),
    card(
      rows.length > 0 && h('ul.attention', rows),
      rows.length + failed.length === 0 && h('p.calm', 'Nothing needs attention.'),
      note.some(Boolean) && h('p.muted.note', note),
    ),
  ]
}
