import type { ProspectLogCounts } from '../shapes/prospect-log-count.ts'
import { activityTable } from './activity-table.ts'
import { baseUrl, call, can, get, session } from './api.ts'
import { actions, addressOf, ago, bdi, button, card, h, refill, type View } from './dom.ts'
import type { Row } from './follow-logs.ts'
import { liveMark } from './live-mark.ts'
import { notify, toCopy } from './notices.ts'
import { repeat } from './repeat.ts'

const NEWEST_MAX = 10
/** The start of a key that is shown. It only tells keys apart. */
const KEY_START_LENGTH = 7
const ATTENTION_MS = 20_000
/** Counts older than this are not shown, because the server is still catching up. */
const LATE_MS = 10 * 60_000

const EXAMPLE =
  '{"source":"crm","type":"form_submitted","email":"ada@example.com","name":"Ada Lovelace","payload":{"form":"contact"}}'
const curlWith = (key: string): string =>
  `curl -s ${baseUrl()}/v0/prospect_logs -H 'x-api-key: ${key}' \\\n  -H 'content-type: application/json' \\\n  -d '${EXAMPLE}'`

/** Shown until something arrives. */
const firstSteps = () => {
  const heading = h('h2', 'Send a first activity')
  if (!can('prospect_logs:write'))
    return card(heading, h('p.muted', 'Activities appear here as they arrive.'))
  const send = async () => {
    await call('POST', '/prospect_logs', { body: EXAMPLE })
    notify('Sent. It appears here in a moment.')
  }
  return card(
    heading,
    h('p', 'Connect a form, a shop or any other source. What it sends appears here as it arrives.'),
    actions(
      h('a.button.primary', { href: addressOf(['sources'], { connect: 'form' }) }, 'Connect a form'),
      button('Send an example', send),
    ),
    h(
      'details',
      h('summary', 'Send it from a program'),
      h('p', 'Paste this into a terminal. The copied text contains your key.'),
      toCopy(
        'A call that logs an activity',
        curlWith(session.key),
        curlWith(`${session.key.slice(0, KEY_START_LENGTH)}…`),
      ),
    ),
  )
}

type Amounts = { activities: number; people: number }
/** What arrived today, yesterday, and yesterday up to this time of the day. */
type Days = { readonly today: Amounts; readonly yesterday: Amounts; readonly yesterdayByNow: Amounts }

const DAY_MS = 86_400_000
/** The numbers of today and yesterday, which are days in UTC as those of the report. Null if activities are not counted, or not up to now. */
const readDays = async (signal: AbortSignal): Promise<Days | null> => {
  const todayMs = Math.floor(Date.now() / DAY_MS) * DAY_MS
  const yesterdayMs = todayMs - DAY_MS
  const query = { by: 'hour', since: new Date(yesterdayMs).toISOString() }
  const found = await get<ProspectLogCounts>('/prospect_log_counts', query, signal).catch(() => null)
  const countedUntilMs = Date.parse(found?.countedUntil ?? '')
  if (!found?.items.length || Date.now() - countedUntilMs > LATE_MS) return null
  const sumOf = (fromMs: number, untilMs: number): Amounts => {
    const counts = found.items.filter(({ at }) => Date.parse(at) >= fromMs && Date.parse(at) < untilMs)
    return {
      activities: counts.reduce((sum, { count }) => sum + count, 0),
      people: counts.reduce((sum, { newProspects }) => sum + newProspects, 0),
    }
  }
  return {
    today: sumOf(todayMs, Number.POSITIVE_INFINITY),
    yesterday: sumOf(yesterdayMs, todayMs),
    yesterdayByNow: sumOf(yesterdayMs, yesterdayMs + Date.now() - todayMs),
  }
}

/** Today's number, with yesterday's below it. */
const tile = (label: string, member: keyof Amounts, { today, yesterday, yesterdayByNow }: Days) => {
  const isOver = yesterday[member] === yesterdayByNow[member]
  const byNow = isOver ? '' : `, ${yesterdayByNow[member].toLocaleString('en')} by this time`
  return h(
    'div',
    h('dt', label),
    h('dd', h('b', today[member].toLocaleString('en'))),
    h('dd.muted', `yesterday ${yesterday[member].toLocaleString('en')}${byNow}`),
  )
}
const tilesOf = (days: Days) =>
  h(
    'dl.tiles',
    tile('New people today (UTC)', 'people', days),
    tile('Activities today (UTC)', 'activities', days),
    h('div', h('dt', 'Report'), h('dd', h('a', { href: addressOf(['report']) }, 'Which page brings people'))),
  )

/** What arrived today, in two numbers, one chart and ten rows. It is shown once all of them are loaded. */
export const view: View = async (place, signal) => {
  const mark = liveMark()
  const sentence = h('h1')
  const origin = h('p.lead.muted')
  const numbers = h('div')
  const empty = h('div', { hidden: true }, firstSteps())
  const newest = h('section', h('h2.label', 'Newest'))
  const chart = h('div')
  let addedChart: Promise<void> | undefined
  const addChart = async (): Promise<void> => {
    const { chartCard } = await import('./chart.ts')
    const { element, first } = chartCard(place, signal)
    await first
    chart.append(element)
  }
  const onNewest = (row: Row | null): void => {
    const isEmpty = rows.size() === 0
    empty.hidden = !isEmpty
    newest.hidden = isEmpty
    if (row === null) {
      refill(sentence, 'Nothing has arrived yet')
      refill(origin)
      return
    }
    addedChart ??= addChart()
    const { createdAt, source, name, email } = row.log
    const who = bdi(name ?? email)
    refill(sentence, 'Today')
    refill(
      origin,
      'Last activity ',
      ago(createdAt),
      ' from ',
      h('b', bdi(source)),
      who && [' by ', h('b', who)],
    )
  }
  const rows = activityTable({ signal, query: {}, mark, max: NEWEST_MAX, onNewest })
  newest.append(
    rows.fresh,
    card(rows.element, h('a.more', { href: addressOf(['activity']) }, 'All activity')),
  )
  const attention = h('section', { 'aria-live': 'polite' })
  await rows.first
  const { attentionIn } = await import('./attention.ts')
  const work = async () => {
    const [needs, days] = await Promise.all([attentionIn(signal), readDays(signal)])
    refill(attention, needs)
    refill(numbers, days && tilesOf(days))
  }
  await Promise.all([repeat({ signal, ms: ATTENTION_MS, work }), addedChart])
  return [h('header', h('div', sentence, origin), mark), empty, numbers, chart, attention, newest]
}
