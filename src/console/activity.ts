import type { ProspectLog } from '../shapes/prospect-log.ts'
import { activityDetail, personBy } from './activity-detail.ts'
import { type Filters, filterBar, filtersIn, queryOf } from './activity-filters.ts'
import { typeOrForm } from './activity-kind.ts'
import { activityTable, ROWS_MAX } from './activity-table.ts'
import { call, get, path, type Slice } from './api.ts'
import {
  actions,
  button,
  card,
  counted,
  goTo,
  h,
  type Place,
  refill,
  replaceAddress,
  type View,
} from './dom.ts'
import { fieldsIn } from './fields.ts'
import { type Restart, type Row, rowsOf } from './follow-logs.ts'
import { pageBy } from './known-pages.ts'
import { loadMore } from './lists.ts'
import { liveMark } from './live-mark.ts'
import { itemTexts, memberOf } from './raw.ts'
import { type CsvRow, localTime, saveAsCsv } from './save-csv.ts'

/** The newest activities, live and with filters. The address names the one that is open. */
export const view: View = async (place: Place, signal: AbortSignal) => {
  const { id = '', search } = place
  const filters = filtersIn(search)
  const query = queryOf(filters)
  const mark = liveMark()
  /** The activity of the address, if it is not among the newest. */
  const separate = h('div')
  const none = h('p.muted.empty', { hidden: true })
  const older = loadMore(async (cursor) => {
    const oldest = rows.oldest()
    if (rows.size() >= ROWS_MAX && oldest !== undefined) {
      await continueFrom(oldest, filters)
      return cursor
    }
    const answer = await readSlice(query, cursor, signal)
    rows.insert(rowsOf(answer))
    updateTexts(answer.value.hasMore)
    return answer.value.nextCursor
  })
  const matches = Object.values(filters).some(Boolean) ? 'fits these filters' : 'has arrived yet'
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
    query,
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
  return [
    h(
      'header',
      h('h1', 'Activity'),
      actions(
        mark,
        pauser,
        button('Save as CSV', () => saveActivities(query)),
      ),
    ),
    filterBar(filters, rows.logs()),
    separate,
    rows.fresh,
    card(rows.element, none, older.element),
  ]
}

type LogQuery = ReturnType<typeof queryOf>

const readSlice = (query: LogQuery, cursor: string | undefined, signal: AbortSignal) =>
  call<Slice<ProspectLog>>('GET', '/prospect_logs', { query: { ...query, limit: 100, cursor }, signal })

/** Goes to the activities up to this one, which becomes the newest. */
const continueFrom = async (id: string, filters: Filters): Promise<void> => {
  const { createdAt } = await get<ProspectLog>(path`/prospect_logs/${id}`)
  const until = new Date(Date.parse(createdAt) + 1).toISOString()
  goTo(['activity'], { ...filters, since: queryOf(filters).since, span: '', until })
}

/** Of each payload, this many fields are saved. */
const CSV_FIELDS_MAX = 500
/** The number of characters that fit a cell of a spreadsheet. */
const CSV_TEXT_LENGTH_MAX = 32_000

/** Saves the activities with a column for each field of their payloads. */
const saveActivities = (query: LogQuery) =>
  saveAsCsv('activities', async (cursor, signal) => {
    const answer = await readSlice(query, cursor, signal)
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
    Type: await typeOrForm(log),
    Page: (await pageBy(pageId))?.effectiveName,
    Person: log.prospectId,
  }
  return { cells, fields: fieldsIn(memberOf(text, 'payload'), CSV_FIELDS_MAX, CSV_TEXT_LENGTH_MAX) }
}
