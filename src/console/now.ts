import type { ProspectLogCounts } from '../shapes/prospect-log-count.ts'
import { activityTable } from './activity-table.ts'
import { baseUrl, call, can, get, session } from './api.ts'
import { actions, addressOf, bdi, button, card, counted, h, refill, time, type View } from './dom.ts'
import type { Row } from './follow-logs.ts'
import { liveMark } from './live-mark.ts'
import { notify, toCopy } from './notices.ts'
import { repeat } from './repeat.ts'

const NEWEST = 10
const ATTENTION_MS = 20_000
/** Counts that are this late are still being made up. */
const LATE_MS = 10 * 60_000

const EXAMPLE =
  '{"source":"crm","type":"form_submitted","email":"ada@example.com","name":"Ada Lovelace","payload":{"form":"contact"}}'
/** Shown until something arrives: a command to paste, or a button. */
const firstSteps = () => {
  const curlWith = (key: string) =>
    `curl -s ${baseUrl()}/v0/prospect_logs -H 'x-api-key: ${key}' \\\n  -H 'content-type: application/json' \\\n  -d '${EXAMPLE}'`
  const send = async () => {
    await call('POST', '/prospect_logs', { body: EXAMPLE })
    notify('Sent. It appears here in a moment.')
  }
  const shown = curlWith(`${session.key.slice(0, 7)}…`)
  return card(
    h('h2', 'Send a first activity'),
    can('prospect_logs:write')
      ? [
          h(
            'p',
            'Paste this into a terminal and watch the activity arrive here. The copied text contains your key.',
          ),
          toCopy('A call that logs an activity', curlWith(session.key), shown),
          actions(
            button('Send this activity from here', send),
            h('a', { href: addressOf(['sources']) }, 'or connect a source'),
          ),
        ]
      : h('p.muted', 'Activities appear here as they arrive.'),
  )
}

/** What arrived today and yesterday, in the days of the reader; nothing if it is not counted that far. */
const todayIn = async (signal: AbortSignal): Promise<string> => {
  const midnight = new Date().setHours(0, 0, 0, 0)
  const since = new Date(midnight)
  since.setDate(since.getDate() - 1)
  const query = { by: 'hour', since: since.toISOString() }
  const found = await get<ProspectLogCounts>('/prospect_log_counts', query, signal).catch(() => null)
  if (!found?.items.length || Date.now() - Date.parse(found.countedUntil) > LATE_MS) return ''
  const today = [0, 0] as [number, number]
  const yesterday = [0, 0] as [number, number]
  for (const { at, count, newProspects } of found.items) {
    const day = Date.parse(at) < midnight ? yesterday : today
    day[0] += count
    day[1] += newProspects
  }
  // Hours that an earlier version counted have no new people: then nothing is said, rather than a wrong 0.
  const people = today[1] > 0 && counted(today[1], 'new person', 'new people')
  const before = yesterday
    .filter((count, i) => i === 0 || count > 0)
    .map((count) => count.toLocaleString('en'))
  const now = [counted(today[0], 'activity', 'activities'), people].filter(Boolean)
  return `Today ${now.join(', ')}; yesterday ${before.join(', ')}.`
}

/** The state of the service, in one sentence, one chart and ten rows. It is shown once all of it is there. */
export const view: View = async (place, signal) => {
  const mark = liveMark()
  const sentence = h('h1')
  const by = h('p.lead.muted')
  const today = h('p.lead')
  const empty = h('div', { hidden: true }, firstSteps())
  const newest = h('section', h('h2.label', 'Newest'))
  const chart = h('div')
  let hasChart: Promise<void> | undefined
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
      refill(by)
      return
    }
    hasChart ??= addChart()
    const { createdAt, source, name, email } = row.log
    const who = name ?? email
    refill(sentence, 'Last activity ', time(createdAt))
    refill(by, 'from ', h('b', bdi(source)), who && [', by ', h('b', bdi(who))])
  }
  const rows = activityTable({ signal, query: {}, mark, max: NEWEST, onNewest })
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
  await Promise.all([repeat({ signal, ms: ATTENTION_MS, work }), hasChart])
  return [h('header', h('div', sentence, by, today), mark), empty, chart, attention, newest]
}
