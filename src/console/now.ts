import type { ProspectLogCounts } from '../shapes/prospect-log-count.ts'
import { activityTable } from './activity-table.ts'
import { baseUrl, call, can, get, session } from './api.ts'
import { attempt, notify, toCopy } from './dialog.ts'
import { button, card, counted, h, refill, time } from './dom.ts'
import { liveMark, type Row, repeat } from './live.ts'
import { addressOf, type View } from './place.ts'

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
    h('h2', {}, 'Send a first activity'),
    can('prospect_logs:write')
      ? [
          h(
            'p',
            {},
            'Paste this into a terminal and watch the activity arrive here. The copied text contains your key.',
          ),
          toCopy('A call that logs an activity', curlWith(session.key), shown),
          h(
            'div.actions',
            {},
            button('Send this activity from here', () => attempt(send)),
            h('a', { href: addressOf(['sources']) }, 'or connect a vendor’s webhook'),
          ),
        ]
      : h(
          'p.muted',
          {},
          'This page shows activities as they arrive. Your key can read them, but not log any.',
        ),
  )
}

/** What arrived today and yesterday, in the days of the reader; nothing if it is not counted that far. */
const todayIn = async (signal: AbortSignal): Promise<string> => {
  const midnight = new Date().setHours(0, 0, 0, 0)
  const before = new Date(midnight).setDate(new Date(midnight).getDate() - 1)
  const query = { by: 'hour', since: new Date(before).toISOString() }
  const found = await get<ProspectLogCounts>('/prospect_log_counts', query, signal).catch(() => null)
  if (!found?.items.length || Date.now() - Date.parse(found.countedUntil) > LATE_MS) return ''
  const [today, yesterday] = [[0, 0] as [number, number], [0, 0] as [number, number]]
  for (const { at, count, newProspects } of found.items) {
    const day = Date.parse(at) < midnight ? yesterday : today
    day[0] += count
    day[1] += newProspects
  }
  const people = counted(today[1], 'new person', 'new people')
  return `Today ${counted(today[0], 'activity', 'activities')}, ${people}; yesterday ${yesterday.map((n) => n.toLocaleString('en')).join(', ')}.`
}

/** The state of the service, in one sentence, one chart and ten rows. It is shown once all of it is there. */
export const view: View = async (place, signal) => {
  const mark = liveMark()
  const sentence = h('h1')
  const by = h('p.lead.muted')
  const today = h('p.lead')
  const empty = h('div', { hidden: true }, firstSteps())
  const newest = h('section', {}, h('h2.label', {}, 'Newest'))
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
    refill(sentence, 'Last activity ', time(createdAt, true))
    refill(by, 'from ', h('b', {}, h('bdi', {}, source)), who && [', by ', h('b', {}, h('bdi', {}, who))])
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
  return [h('header', {}, h('div', {}, sentence, by, today), mark), empty, chart, attention, newest]
}
