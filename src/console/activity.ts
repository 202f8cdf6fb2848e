import type { ProspectLog } from '../shapes/prospect-log.ts'
import { activityDetail } from './activity-detail.ts'
import { activityTable, ROWS_MAX } from './activity-table.ts'
import { call, get, path, type Slice } from './api.ts'
import { loadMore } from './dialog.ts'
import { button, card, counted, h, refill } from './dom.ts'
import { liveMark, type Restart, rowsOf } from './live.ts'
import { addressOf, type Place, replaceAddress, type View } from './place.ts'

const FILTERS = ['source', 'type', 'since', 'until'] as const
/** A time as the browser lets people enter it, in their zone. */
const localTime = (time: string | null): string => {
  const date = new Date(time ?? '')
  if (Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** The tail of all activities, with filters. An opened one is in the address. */
export const view: View = async (place: Place, signal: AbortSignal) => {
  const { id = '', search } = place
  const chosen = Object.fromEntries(FILTERS.map((name) => [name, search.get(name) ?? ''])) as Record<
    (typeof FILTERS)[number],
    string
  >
  const mark = liveMark()
  let isPaused = false
  const alone = h('div')
  let isOpened = false
  const fits = FILTERS.some((name) => chosen[name]) ? 'fits these filters' : 'has arrived yet'
  const none = h('p.muted.empty', { hidden: true })
  const older = loadMore(async (cursor) => {
    const oldest = rows.oldest()
    if (rows.size() >= ROWS_MAX && oldest !== undefined) {
      const { createdAt } = await get<ProspectLog>(path`/prospect_logs/${oldest}`)
      const until = new Date(Date.parse(createdAt) + 1).toISOString()
      location.hash = addressOf(['activity'], { ...chosen, until })
      return cursor
    }
    const query = { ...chosen, limit: 100, cursor }
    const answer = await call<Slice<ProspectLog>>('GET', '/prospect_logs', { query, signal })
    rows.append(rowsOf(answer))
    showNone(answer.value.hasMore)
    return answer.value.nextCursor
  })
  const showNone = (hasMore: boolean): void => {
    none.hidden = rows.size() > 0
    none.textContent = hasMore ? `None of the newest ${fits}. Older ones may.` : `No activity ${fits}.`
    const isFull = rows.size() >= ROWS_MAX
    // There may be many earlier rows or none: the oldest rows have made room.
    if (isFull) older.element.hidden = false
    older.element.textContent = isFull
      ? `Continue from the oldest of ${counted(ROWS_MAX, 'row')}`
      : 'Load older'
  }
  const onNewest = (_: unknown, restart: Restart | null): void => {
    if (restart) older.follow(restart.nextCursor)
    showNone(restart?.nextCursor !== undefined)
    if (id && rows.has(id) && !isOpened) {
      alone.replaceChildren()
      rows.open(id)
    }
    isOpened = true
  }
  const onOpened = (opened: string | null) =>
    replaceAddress(['activity', ...(opened ? [opened] : [])], search)
  const options = {
    signal,
    query: chosen,
    mark,
    max: ROWS_MAX,
    isHeldByScroll: true,
    isPaused: () => isPaused,
  }
  const rows = activityTable({ ...options, onNewest, onOpened })
  const filter = (name: (typeof FILTERS)[number]) => {
    const isTime = name === 'since' || name === 'until'
    const value = isTime ? localTime(chosen[name]) : chosen[name]
    const label =
      name === 'since' ? 'From' : name === 'until' ? 'Before' : name === 'type' ? 'Type' : 'Source'
    // A time changes with each digit: the search starts once it is complete.
    let isTyped = false
    const choose = ({ target }: Event): void => {
      isTyped = false
      const text = (target as HTMLInputElement).value
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
        onchange: (event) => isTyped || choose(event),
        onkeydown: (event) => {
          isTyped = isTime
          if (isTime && (event as KeyboardEvent).key === 'Enter') choose(event)
        },
        onblur: (event) => isTyped && choose(event),
        maxlength: 100,
        ...(isTime ? {} : { list: `${name}s`, placeholder: 'exact' }),
      }),
    )
  }
  const pauser = button('Pause', () => {
    isPaused = !isPaused
    pauser.textContent = isPaused ? 'Resume' : 'Pause'
    mark.set(rows.state())
  })
  await rows.first
  // An activity that is not among the newest is shown separately.
  if (id && !rows.has(id)) refill(alone, card(await activityDetail(id, signal)))
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
    card(rows.element, none, older.element),
  ]
}
