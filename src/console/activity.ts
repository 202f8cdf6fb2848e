import type { ProspectLog } from '../shapes/prospect-log.ts'
import { activityDetail, pageBy, personBy } from './activity-detail.ts'
import { activityTable, ROWS_MAX } from './activity-table.ts'
import { call, get, path, type Slice } from './api.ts'
import { field, isoOf } from './dialog.ts'
import { button, card, counted, goTo, h, type Place, refill, replaceAddress, type View } from './dom.ts'
import { type Restart, rowsOf } from './follow-logs.ts'
import { loadMore } from './lists.ts'
import { liveMark } from './live-mark.ts'
import { itemTexts, memberOf } from './raw.ts'
import { saveAsCsv } from './save-csv.ts'

const FILTERS = { source: 'Source', type: 'Type', since: 'From', until: 'Before' } as const
type Filter = keyof typeof FILTERS
/** A time as the browser lets people enter it, in their zone. */
const localTime = (time: string | null): string => {
  const date = new Date(time ?? '')
  if (Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** The tail of all activities, with filters. An opened one is in the address. */
export const view: View = async (place: Place, signal: AbortSignal) => {
  const { id = '', search } = place
  const names = Object.keys(FILTERS) as Filter[]
  const chosen = Object.fromEntries(names.map((name) => [name, search.get(name) ?? ''])) as Record<
    Filter,
    string
  >
  const mark = liveMark()
  let isPaused = false
  const alone = h('div')
  let isOpened = false
  const fits = names.some((name) => chosen[name]) ? 'fits these filters' : 'has arrived yet'
  const none = h('p.muted.empty', { hidden: true })
  const older = loadMore(async (cursor) => {
    const oldest = rows.oldest()
    if (rows.size() >= ROWS_MAX && oldest !== undefined) {
      const { createdAt } = await get<ProspectLog>(path`/prospect_logs/${oldest}`)
      const until = new Date(Date.parse(createdAt) + 1).toISOString()
      goTo(['activity'], { ...chosen, until })
      return cursor
    }
    const query = { ...chosen, limit: 100, cursor }
    const answer = await call<Slice<ProspectLog>>('GET', '/prospect_logs', { query, signal })
    rows.insert(rowsOf(answer))
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
  const filter = (name: Filter) => {
    const isTime = name === 'since' || name === 'until'
    const value = isTime ? localTime(chosen[name]) : chosen[name]
    // A time changes with each digit: the search starts once it is complete.
    let isTyped = false
    const choose = ({ target }: Event): void => {
      isTyped = false
      const text = (target as HTMLInputElement).value
      goTo(['activity'], { ...chosen, [name]: (isTime && isoOf(text)) || text })
    }
    return field(FILTERS[name], name, {
      type: isTime ? 'datetime-local' : 'search',
      value,
      onchange: (event) => isTyped || choose(event),
      onkeydown: (event) => {
        isTyped = isTime
        if (isTime && (event as KeyboardEvent).key === 'Enter') choose(event)
      },
      onblur: (event) => isTyped && choose(event),
      maxlength: 100,
      ...(!isTime && { list: `${name}s`, placeholder: `all ${name}s` }),
    })
  }
  const pauser = button('Pause', () => {
    isPaused = !isPaused
    pauser.textContent = isPaused ? 'Resume' : 'Pause'
    mark.set(rows.state())
  })
  const save = () => {
    const heads = ['When', 'Name', 'Email', 'Source', 'Type', 'Page', 'Payload', 'Person']
    return saveAsCsv('activities', heads, async (cursor, signal) => {
      const query = { ...chosen, limit: 100, cursor }
      const answer = await call<Slice<ProspectLog>>('GET', '/prospect_logs', { query, signal })
      const texts = itemTexts(answer.text)
      const cells = rowsOf(answer).map(async ({ log, pageId }, i) => {
        const { name, email } =
          log.name || log.email ? log : ((await personBy(log.prospectId, signal)) ?? log)
        const page = (await pageBy(pageId))?.effectiveName
        const payload = memberOf(texts[i] ?? '{}', 'payload')
        return [log.occurredAt, name, email, log.source, log.type, page, payload, log.prospectId]
      })
      return { rows: await Promise.all(cells), nextCursor: answer.value.nextCursor }
    })
  }
  await rows.first
  // An activity that is not among the newest is shown separately.
  if (id && !rows.has(id)) refill(alone, card(await activityDetail(id, signal)))
  const known = (id: string, column: number) => {
    const cells = [...rows.element.querySelectorAll(`td:nth-child(${column})`)]
    const texts = new Set(cells.map(({ textContent }) => textContent))
    return h(
      'datalist',
      { id },
      [...texts].map((value) => h('option', { value })),
    )
  }
  return [
    h('header', h('h1', 'Activity'), mark),
    h('div.filters', names.map(filter), pauser, button('Save as CSV', save)),
    alone,
    rows.fresh,
    known('sources', 3),
    known('types', 4),
    card(rows.element, none, older.element),
  ]
}
