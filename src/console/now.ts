import type { ProspectLogCounts } from '../shapes/prospect-log-count.ts'
import { activityTable } from './activity-table.ts'
import { baseUrl, call, can, get, session } from './api.ts'
import { actions, addressOf, bdi, button, card, counted, h, refill, time, type View } from './dom.ts'
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

/** Shown until something arrives: a command to paste, or a button. */
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
    h(
      'p',
      'Paste this into a terminal and watch the activity arrive here. The copied text contains your key.',
    ),
    toCopy(
      'A call that logs an activity',
      curlWith(session.key),
      curlWith(`${session.key.slice(0, KEY_START_LENGTH)}…`),
    ),
    actions(
      button('Send this activity from here', send),
      h('a', { href: addressOf(['sources']) }, 'or connect a source'),
    ),
  )
}

/** A sentence about the reader's today and yesterday. Empty if activities are not counted, or not up to now. */
const todayIn = async (signal: AbortSignal): Promise<string> => {
  const midnight = new Date().setHours(0, 0, 0, 0)
  const since = new Date(midnight)
  since.setDate(since.getDate() - 1)
  const query = { by: 'hour', since: since.toISOString() }
  const found = await get<ProspectLogCounts>('/prospect_log_counts', query, signal).catch(() => null)
  if (!found?.items.length || Date.now() - Date.parse(found.countedUntil) > LATE_MS) return ''
  const today = { activities: 0, people: 0 }
  const yesterday = { activities: 0, people: 0 }
  for (const { at, count, newProspects } of found.items) {
    const day = Date.parse(at) < midnight ? yesterday : today
    day.activities += count
    day.people += newProspects
  }
  // No new people are shown as nothing instead of 0, because an earlier version did not count them.
  const todayText = [
    counted(today.activities, 'activity', 'activities'),
    today.people > 0 && counted(today.people, 'new person', 'new people'),
  ]
  const yesterdayText = [
    yesterday.activities.toLocaleString('en'),
    yesterday.people > 0 && yesterday.people.toLocaleString('en'),
  ]
  const listed = (texts: readonly (string | false)[]): string => texts.filter(Boolean).join(', ')
  return `Today ${listed(todayText)}; yesterday ${listed(yesterdayText)}.`
}

/** The state of the service, in one sentence, one chart and ten rows. It is shown once all of them are loaded. */
export const view: View = async (place, signal) => {
  const mark = liveMark()
  const sentence = h('h1')
  const origin = h('p.lead.muted')
  const today = h('p.lead')
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
    refill(sentence, 'Last activity ', time(createdAt))
    refill(origin, 'from ', h('b', bdi(source)), who && [', by ', h('b', who)])
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
    const [needs, counts] = await Promise.all([attentionIn(signal), todayIn(signal)])
    refill(attention, needs)
    refill(today, counts)
  }
  await Promise.all([repeat({ signal, ms: ATTENTION_MS, work }), addedChart])
  return [h('header', h('div', sentence, origin, today), mark), empty, chart, attention, newest]
}
