import type { ErasureSlice } from '../shapes/erasure.ts'
import type { Hook } from '../shapes/hook.ts'
import type { Page, PageSlice, PageWithVersion } from '../shapes/page.ts'
import type { PageGroup, PageGroupSlice } from '../shapes/page-group.ts'
import type { WebhookEndpoint } from '../shapes/webhook.ts'
import type { WebhookDelivery } from '../shapes/webhook-delivery.ts'
import { can, get, path, type Slice } from './api.ts'
import { addressOf, bdi, type Child, card, counted, h, tag, time } from './dom.ts'
import { plainReason } from './notices.ts'

const DAY_MS = 86_400_000
/** Only the newest pages of the newest groups are checked. */
const GROUPS_MAX = 5
const PAGES_MAX = 4
/** A version that has been processing for longer than this needs attention. */
const SLOW_MS = 60_000

/** A problem that needs attention, and the place to solve it. */
type Item = {
  readonly mark: keyof typeof MARKS
  readonly place: readonly [view: string, ...ids: string[]]
  readonly text: Child
}
/** The colours of the marks. */
const MARKS = {
  disabled: 'bad',
  failing: 'bad',
  failed: 'bad',
  refused: 'warning',
  warned: 'warning',
  slow: 'warning',
  erasing: '',
} as const
/** The text of the link to the place, by view. */
const LINK_TEXTS: Readonly<Record<string, string>> = {
  webhooks: 'Open receiver',
  sources: 'Open source',
  pages: 'Open page',
  people: 'Open person',
}

/** Everything that needs attention, as far as the key may see it. Also shows the number of items in the menu. */
export const attentionIn = async (signal: AbortSignal): Promise<readonly Node[]> => {
  const visible = CHECKS.filter(({ scopes }) => scopes.every(can))
  const hidden = CHECKS.filter((check) => !visible.includes(check))
  const results = await Promise.allSettled(visible.map(({ check }) => check(signal)))
  const items = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  const failed = visible.filter((_, i) => results[i]?.status === 'rejected')
  showBadges(items)
  if (items.length === 0 && visible.length === 0) return []
  const namesOf = (checks: readonly Check[]) => checks.map(({ name }) => name).join(', ')
  const note = [
    hidden.length > 0 && `This key cannot see ${namesOf(hidden)}. `,
    failed.length > 0 && `Could not check ${namesOf(failed)}.`,
  ]
  return [
    h('h2.label', 'Needs attention'),
    card(
      items.length > 0 && h('ul.attention', items.map(lineOf)),
      items.length + failed.length === 0 && h('p.calm', 'Nothing needs attention.'),
      note.some(Boolean) && h('p.muted.note', note),
    ),
  ]
}

const lineOf = ({ mark, place, text }: Item) =>
  h('li', tag(mark, MARKS[mark]), h('span', text), h('a', { href: addressOf(place) }, LINK_TEXTS[place[0]]))

/** Shows how many items of each view need attention. Running erasures need none. */
const showBadges = (items: readonly Item[]): void => {
  const problems = items.filter(({ mark }) => mark !== 'erasing')
  for (const link of document.querySelectorAll<HTMLElement>('nav a[data-view]')) {
    const count = problems.filter(({ place }) => place[0] === link.dataset['view']).length
    link.querySelector('.badge')?.remove()
    if (count > 0) link.append(h('span.badge', { 'aria-label': `${count} need attention` }, count))
  }
}

const checkWebhooks = async (signal: AbortSignal): Promise<Item[]> => {
  const { items } = await get<Pick<Slice<WebhookEndpoint>, 'items'>>('/webhook_endpoints', {}, signal)
  const checks = items.map((endpoint) => checkEndpoint(endpoint, signal))
  return (await Promise.all(checks)).flat()
}
const checkEndpoint = async (endpoint: WebhookEndpoint, signal: AbortSignal): Promise<Item[]> => {
  const { webhookEndpointId: id, status, disabledReason, lastError } = endpoint
  const place = ['webhooks', id] as const
  const name = bold(nameOf(endpoint))
  if (status === 'disabled') {
    if (disabledReason === null) return []
    return [{ mark: 'disabled', place, text: [name, ' was disabled: ', disabledReason] }]
  }
  if (lastError) return [{ mark: 'failing', place, text: [name, ' ', whyFailing(endpoint)] }]
  const deliveries = path`/webhook_endpoints/${id}/deliveries`
  const failed = await get<Slice<WebhookDelivery>>(deliveries, { status: 'failed', limit: 1 }, signal)
  return failed.items.map(({ lastError }) => ({
    mark: 'failed',
    place,
    text: ['A delivery to ', name, ' failed for good: ', plainReason(lastError ?? '')],
  }))
}

const checkSources = async (signal: AbortSignal): Promise<Item[]> => {
  const { items } = await get<Slice<Hook>>('/hooks', { limit: 100 }, signal)
  const refused = items.filter(isRefusing).map(
    ({ hookId, source, lastRefusal }): Item => ({
      mark: 'refused',
      place: ['sources', hookId],
      text: ['A delivery of ', bold(source), ' was refused ', noted(lastRefusal)],
    }),
  )
  const warned = items
    .filter((hook) => hook.lastWarning !== null && !isRefusing(hook))
    .map(
      ({ hookId, source, lastWarning }): Item => ({
        mark: 'warned',
        place: ['sources', hookId],
        text: ['A delivery of ', bold(source), ' was accepted with a warning ', noted(lastWarning)],
      }),
    )
  return [...refused, ...warned]
}

const checkPages = async (signal: AbortSignal): Promise<Item[]> => {
  const groups = await get<PageGroupSlice>('/page_groups', { limit: GROUPS_MAX, status: 'active' }, signal)
  const checks = groups.items.map((group) => checkGroup(group, signal))
  return (await Promise.all(checks)).flat()
}
const checkGroup = async ({ pageGroupId }: PageGroup, signal: AbortSignal): Promise<Item[]> => {
  const url = path`/page_groups/${pageGroupId}/pages`
  const { items } = await get<PageSlice>(url, { limit: PAGES_MAX }, signal)
  const read = ({ pageId }: Page) => get<PageWithVersion>(`${url}${path`/${pageId}`}`, {}, signal)
  const pages = await Promise.all(items.map(read))
  return pages.flatMap(itemsOfPage)
}

/** When versions were first seen processing in this tab, by id. */
const processingSince = new Map<string, number>()
const itemsOfPage = (page: PageWithVersion): readonly Item[] => {
  const { pageGroupId, pageId, effectiveName, latestVersion } = page
  const { versionId, status, failureReason } = latestVersion
  const place = ['pages', pageGroupId, pageId] as const
  const version = ['A version of ', bold(effectiveName)]
  if (status === 'failed') return [{ mark: 'failed', place, text: [version, ` failed: ${failureReason}`] }]
  if (status !== 'processing') return []
  const sinceMs = processingSince.get(versionId) ?? Date.now()
  processingSince.set(versionId, sinceMs)
  if (Date.now() - sinceMs < SLOW_MS) return []
  return [{ mark: 'slow', place, text: [version, ' is still being processed'] }]
}

const checkErasures = async (signal: AbortSignal): Promise<Item[]> => {
  const { items } = await get<ErasureSlice>('/erasures', { limit: 20 }, signal)
  // One that only waits goes on without help.
  const running = items.filter(({ status, waitingFor }) => status === 'processing' && waitingFor === null)
  return running.map(({ requestedAt, prospectId, logsErased }) => {
    const erased = `. ${counted(logsErased, 'activity is', 'activities are')} deleted already.`
    const text = ['A person is being erased, since ', time(requestedAt), erased]
    return { mark: 'erasing', place: ['people', prospectId ?? ''], text }
  })
}

type Check = {
  readonly name: string
  readonly scopes: readonly string[]
  readonly check: (signal: AbortSignal) => Promise<readonly Item[]>
}
const CHECKS: readonly Check[] = [
  { name: 'webhooks', scopes: ['webhooks:write'], check: checkWebhooks },
  { name: 'sources', scopes: ['hooks:write'], check: checkSources },
  { name: 'pages', scopes: ['page_groups:read', 'pages:read'], check: checkPages },
  { name: 'erasures', scopes: ['prospects:erase'], check: checkErasures },
]

const bold = (text: string) => h('b', bdi(text))

/** A URL short enough to recognize an endpoint in a list. */
export const shortUrl = (url: string): string => url.replace(/^https?:\/\//, '').slice(0, 60)

/** What an endpoint is called: by its note, or else by its address. */
export const nameOf = ({ url, description }: WebhookEndpoint): string => description || shortUrl(url)

/** When a hook last noted a problem, and which. */
export const noted = (problem: Hook['lastRefusal']): Child =>
  problem && [time(problem.at), ': ', h('span.warning', problem.reason)]

/** Whether the newest delivery of a hook was refused, within the last day. */
export const isRefusing = ({ lastRefusal, lastReceivedAt }: Hook): boolean =>
  lastRefusal !== null &&
  Date.now() - Date.parse(lastRefusal.at) < DAY_MS &&
  lastRefusal.at > (lastReceivedAt ?? '')

/** Since when an endpoint has been failing, and why. */
export const whyFailing = ({ failures, failingSince, lastError }: WebhookEndpoint): Child =>
  lastError && [
    howOftenFailed(failures),
    time(failingSince ?? lastError.at),
    ': ',
    h('span.bad', bdi(plainReason(lastError.reason))),
  ]
const howOftenFailed = (failures: number): string => {
  if (failures === 0) return 'gets nothing, since '
  return failures === 1 ? 'failed ' : `failed ${failures} times in a row, first `
}
