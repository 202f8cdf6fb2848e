import type { ProspectLog } from '../shapes/prospect-log.ts'
import { activityDetail, pageBy, personBy } from './activity-detail.ts'
import { activityTable, ROWS_MAX } from './activity-table.ts'
import { call, get, path, type Slice } from './api.ts'
import { field, isoOf } from './dialog.ts'
import { button, card, counted, goTo, h, type Place, refill, replaceAddress, type View } from './dom.ts'
import { fieldsIn } from './fields.ts'
import { type Restart, type Row, rowsOf } from './follow-logs.ts'
import { loadMore } from './lists.ts'
import { liveMark } from './live-mark.ts'
import { itemTexts, memberOf } from './raw.ts'
import { type CsvRow, localTime, saveAsCsv } from './save-csv.ts'

const FILTERS = { source: 'Source', type: 'Type', since: 'From', until: 'Before' } as const
type Filter = keyof typeof FILTERS
/** The values of the filters, as the API expects them. Empty: not filtered. */
type Chosen = Readonly<Record<Filter, string>>

/** The newest activities, live and with filters. The address names the one that is open. */
export const view: View = async (place: Place, signal: AbortSignal) => {
  const { id = '', search } = place
  const filters = Object.keys(FILTERS) as Filter[]
  const chosen = Object.fromEntries(filters.map((name) => [name, search.get(name) ?? ''])) as Chosen
  const mark = liveMark()
  /** The activity of the address, if it is not among the newest. */
  const separate = h('div')
  const none = h('p.muted.empty', { hidden: true })
  const older = loadMore(async (cursor) => {
    const oldest = rows.oldest()
    if (rows.size() >= ROWS_MAX && oldest !== undefined) {
      await continueFrom(oldest, chosen)
      return cursor
    }
    const answer = await readSlice(chosen, cursor, signal)
    rows.insert(rowsOf(answer))
    updateTexts(answer.value.hasMore)
    return answer.value.nextCursor
  })
  const matches = filters.some((name) => chosen[name]) ? 'fits these filters' : 'has arrived yet'
  const updateTexts = (hasMore: boolean): void => {
    none.hidden = rows.size() > 0
    none.textContent = hasMore ? `None of the newest ${matches}. Older ones may.` : `No activity ${matches}.`
    const isFull = rows.size() >= ROWS_MAX
    // A full table has removed its oldest rows, so there may be more even at the end of the list.
    if (isFull) older.element.hidden = false
    older.element.textContent = isFull
      ? `Continue from the oldest of ${counted(ROWS_MAX, 'row')}`
      : 'Load older'
  }
  let isFirst = true
  const onNewest = (_newest: Row | null, restart: Restart | null): void => {
    if (restart) older.follow(restart.nextCursor)
    updateTexts(restart?.nextCursor !== undefined)
    if (isFirst && id && rows.has(id)) {
      separate.replaceChildren()
      rows.open(id)
    }
    isFirst = false
  }
  let isPaused = false
  const rows = activityTable({
    signal,
    query: chosen,
    mark,
    max: ROWS_MAX,
    isHeldByScroll: true,
    isPaused: () => isPaused,
    onNewest,
    onOpened: (opened) => replaceAddress(opened ? ['activity', opened] : ['activity'], search),
  })
  const pauser = button('Pause', () => {
    isPaused = !isPaused
    pauser.textContent = isPaused ? 'Resume' : 'Pause'
    mark.set(rows.state())
  })
  await rows.first
  if (id && !rows.has(id)) refill(separate, card(await activityDetail(id, signal)))
  const fields = filters.map((name) => filterField(name, chosen))
  return [
    h('header', h('h1', 'Activity'), mark),
    h(
      'div.filters',
      fields,
      pauser,
      button('Save as CSV', () => saveActivities(chosen)),
    ),
    separate,
    rows.fresh,
    suggestions('sources', rows.element, 3),
    suggestions('types', rows.element, 4),
    card(rows.element, none, older.element),
  ]
}

const readSlice = (chosen: Chosen, cursor: string | undefined, signal: AbortSignal) =>
  call<Slice<ProspectLog>>('GET', '/prospect_logs', { query: { ...chosen, limit: 100, cursor }, signal })

/** Goes to the activities up to this one, which becomes the newest. */
const continueFrom = async (id: string, chosen: Chosen): Promise<void> => {
  const { createdAt } = await get<ProspectLog>(path`/prospect_logs/${id}`)
  const until = new Date(Date.parse(createdAt) + 1).toISOString()
  goTo(['activity'], { ...chosen, until })
}

const filterField = (name: Filter, chosen: Chosen) => {
  const show = (value: string): void => goTo(['activity'], { ...chosen, [name]: value })
  if (name === 'since' || name === 'until') return timeFilter(name, chosen[name], show)
  return field(FILTERS[name], name, {
    type: 'search',
    value: chosen[name],
    onchange: ({ target }) => show((target as HTMLInputElement).value),
    maxlength: 100,
    list: `${name}s`,
    placeholder: `all ${name}s`,
  })
}

/** A time changes with each typed digit, so a typed one applies at Enter, or when the field loses the focus. */
const timeFilter = (name: Filter, value: string, show: (value: string) => void) => {
  let isTyped = false
  const choose = ({ target }: Event): void => {
    isTyped = false
    show(isoOf((target as HTMLInputElement).value) ?? '')
  }
  return field(FILTERS[name], name, {
    type: 'datetime-local',
    value: localTime(value).replace(' ', 'T'),
    onchange: (event) => isTyped || choose(event),
    onkeydown: (event) => {
      isTyped = true
      if ((event as KeyboardEvent).key === 'Enter') choose(event)
    },
    onblur: (event) => isTyped && choose(event),
  })
}

/** The values of a column, which the filter with this list suggests. */
const suggestions = (id: string, table: HTMLElement, column: number) => {
  const cells = [...table.querySelectorAll(`td:nth-child(${column})`)]
  const values = [...new Set(cells.map(({ textContent }) => textContent))]
  const options = values.map((value) => h('option', { value }))
  return h('datalist', { id }, options)
}

/** Of each payload, this many fields are saved. */
const CSV_FIELDS_MAX = 500
/** The number of characters that fit a cell of a spreadsheet. */
const CSV_TEXT_LENGTH_MAX = 32_000

/** Saves the activities with a column for each field of their payloads. */
const saveActivities = (chosen: Chosen) =>
  saveAsCsv('activities', async (cursor, signal) => {
    const answer = await readSlice(chosen, cursor, signal)
    const texts = itemTexts(answer.text)
    const rows = rowsOf(answer).map((row, i) => csvRowOf(row, texts[i] ?? '{}', signal))
    return { rows: await Promise.all(rows), nextCursor: answer.value.nextCursor }
  })

const csvRowOf = async ({ log, pageId }: Row, text: string, signal: AbortSignal): Promise<CsvRow> => {
  const person = log.name || log.email ? log : await personBy(log.prospectId, signal)
  const { name, email } = person ?? log
  const cells = {
    When: localTime(log.occurredAt),
    Name: name,
    Email: email,
    Source: log.source,
    Type: log.type,
    Page: (await pageBy(pageId))?.effectiveName,
    'Person ID': log.prospectId,
  }
  return { cells, fields: fieldsIn(memberOf(text, 'payload'), CSV_FIELDS_MAX, CSV_TEXT_LENGTH_MAX) }
}
