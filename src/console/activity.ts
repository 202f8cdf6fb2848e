import type { ProspectLog } from '../shapes/prospect-log.ts'
import { activityDetail, activityTable, ROWS_MAX } from './activity-table.ts'
import { call, get, path, type Slice } from './api.ts'
import { attempt } from './dialog.ts'
import { button, card, h } from './dom.ts'
import { liveMark, rowsOf, SLICE_LENGTH } from './live.ts'
import { addressOf, type Place, replaceAddress, type View } from './place.ts'

const FILTERS = ['source', 'type', 'since', 'until'] as const
/** A time as the browser lets people enter it, in their zone. */
const localTime = (time: string | null): string => {
  if (!time) return ''
  const date = new Date(time)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** The tail of all activities, with filters. An opened one is in the address. */
export const activityView: View = async (place: Place, signal: AbortSignal) => {
  const { id = '', search } = place
  const chosen = Object.fromEntries(FILTERS.map((name) => [name, search.get(name) ?? ''])) as Record<
    (typeof FILTERS)[number],
    string
  >
  const mark = liveMark()
  let isPaused = false
  let older: { cursor?: string | undefined } | null = null
  const none = h(
    'p.muted.empty',
    { hidden: true },
    FILTERS.some((name) => chosen[name]) ? 'No activity fits these filters.' : 'Nothing has arrived yet.',
  )
  const more = button('Load older', () => attempt(loadOlder), { hidden: true, class: 'more' })
  const onNewest = (): void => {
    none.hidden = rows.size() > 0
    more.hidden = older === null ? rows.size() < SLICE_LENGTH : older.cursor === undefined
    more.textContent =
      rows.size() < ROWS_MAX
        ? 'Load older'
        : `${ROWS_MAX.toLocaleString('en')} are shown: continue from the oldest`
    if (id && rows.has(id) && !isOpened) rows.open(id)
    isOpened = true
  }
  let isOpened = false
  const onOpened = (opened: string | null) =>
    replaceAddress(['activity', ...(opened ? [opened] : [])], search)
  const rows = activityTable({
    signal,
    query: chosen,
    mark,
    max: ROWS_MAX,
    isPaused: () => isPaused,
    onNewest,
    onOpened,
  })
  const loadOlder = async (): Promise<void> => {
    const oldest = rows.oldest()
    if (rows.size() >= ROWS_MAX && oldest !== undefined) {
      const { createdAt } = await get<ProspectLog>(path`/prospect_logs/${oldest}`)
      const until = new Date(Date.parse(createdAt) + 1).toISOString()
      location.hash = addressOf(['activity'], { ...chosen, until })
      return
    }
    // The first slice again, and those behind it: what is shown already is left out.
    do {
      const query = { ...chosen, limit: 100, cursor: older?.cursor }
      const answer = await call<Slice<ProspectLog>>('GET', '/prospect_logs', { query, signal })
      const before = rows.size()
      rows.append(rowsOf(answer))
      older = { cursor: answer.value.nextCursor }
      if (rows.size() > before) break
    } while (older.cursor)
    onNewest()
  }
  const filter = (name: (typeof FILTERS)[number]) => {
    const isTime = name === 'since' || name === 'until'
    const value = isTime ? localTime(chosen[name]) : chosen[name]
    const label =
      name === 'since' ? 'From' : name === 'until' ? 'Before' : name === 'type' ? 'Type' : 'Source'
    const onchange = (event: Event) => {
      const text = (event.target as HTMLInputElement).value
      const given = isTime && text ? new Date(text).toISOString() : text
      location.hash = addressOf(['activity'], { ...chosen, [name]: given })
    }
    return h(
      'label',
      {},
      label,
      h('input', {
        name,
        type: isTime ? 'datetime-local' : 'search',
        value,
        onchange,
        maxlength: 100,
        ...(isTime ? {} : { list: `${name}s`, placeholder: 'exact' }),
      }),
    )
  }
  const pauser = button('Pause', () => {
    isPaused = !isPaused
    pauser.textContent = isPaused ? 'Resume' : 'Pause'
    mark.set(isPaused ? 'paused' : 'live')
  })
  const alone = h('div')
  // An activity that is not among the newest is shown by itself.
  if (id)
    void attempt(async () => {
      const { value, text } = await call<ProspectLog>('GET', path`/prospect_logs/${id}`, { signal })
      if (!rows.has(id)) alone.replaceChildren(card(activityDetail({ log: value, text })))
    })
  await rows.first
  const known = (name: string, column: number) => {
    const texts = [...rows.element.querySelectorAll(`td:nth-child(${column})`)].map(
      (cell) => cell.textContent,
    )
    return h(
      'datalist',
      { id: name },
      [...new Set(texts)].map((value) => h('option', { value })),
    )
  }
  return [
    h('header', {}, h('h1', {}, 'Activity'), mark),
    h('div.filters', {}, FILTERS.map(filter), pauser),
    alone,
    rows.fresh,
    known('sources', 3),
    known('types', 4),
    card(rows.element, none, more),
  ]
}
