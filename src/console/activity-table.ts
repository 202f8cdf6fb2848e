import { activityDetail, whoDid } from './activity-detail.ts'
import { kindTag } from './activity-kind.ts'
import { bdi, button, h, when } from './dom.ts'
import { fieldsInLine } from './fields.ts'
import { followLogs, type Restart, type Row, SLICE_LENGTH } from './follow-logs.ts'
import { pageOf } from './known-pages.ts'
import { below, expander, openByClick, row as rowWith, table } from './lists.ts'
import type { LiveState, liveMark } from './live-mark.ts'

export const ROWS_MAX = 500
/** New rows wait for a reader who has scrolled this far. */
const SCROLLED_PX = 120

/** A row that opens in place. */
const rowOf = (row: Row, signal: AbortSignal, onToggle: (row: Row, opened: HTMLElement | null) => void) => {
  const { log, fields } = row
  const show = async () => below(element, COLUMNS.length, await activityDetail(log.prospectLogId, signal))
  const opener = expander(whoDid(log, signal), show, () => {
    onToggle(row, opener.ariaExpanded === 'true' ? element : null)
  })
  const element = rowWith(
    when(log.createdAt),
    opener,
    bdi(log.source),
    kindTag(log),
    h('td.start', pageOf(row.pageId), fieldsInLine(fields)),
  )
  openByClick(element, opener)
  return Object.assign(element, { opener, row })
}

const COLUMNS = ['When', 'Who', 'Source', 'Type', 'What']

type TableOptions = {
  readonly signal: AbortSignal
  readonly query: Readonly<Record<string, string>>
  readonly mark: ReturnType<typeof liveMark>
  readonly max: number
  /** New rows wait while the reader scrolls down. */
  readonly isHeldByScroll?: boolean
  readonly isPaused?: () => boolean
  readonly onNewest: (row: Row | null, restart: Restart | null) => void
  readonly onOpened?: (id: string | null) => void
}

/** The newest activities in a table, live. */
export const activityTable = (options: TableOptions) => {
  const { signal, query, mark, max, isHeldByScroll = false, isPaused, onNewest, onOpened } = options
  const opened = new Set<string>()
  const rows = new Map<string, ReturnType<typeof rowOf>>()
  const body = h('tbody')
  const fresh = button('', () => tail.show(), { class: 'fresh', hidden: true })
  let isScrolled = false
  const onScroll = () => {
    isScrolled = isHeldByScroll && scrollY > SCROLLED_PX
  }
  document.addEventListener('scroll', onScroll, { signal, passive: true })
  const state = (): LiveState => {
    if (isPaused?.()) return 'paused'
    return opened.size > 0 || isScrolled ? 'held' : 'live'
  }
  /** Ids begin with the time of arrival. */
  const idsByAge = () => [...rows.keys()].sort()
  const remove = (id: string): void => {
    const element = rows.get(id)
    if (opened.has(id)) element?.nextElementSibling?.remove()
    element?.remove()
    opened.delete(id)
    rows.delete(id)
  }
  const onToggle = ({ log }: Row, element: HTMLElement | null): void => {
    // A row that was removed while it was open no longer makes new rows wait.
    if (element?.isConnected) opened.add(log.prospectLogId)
    else opened.delete(log.prospectLogId)
    mark.set(state())
    onOpened?.(element ? log.prospectLogId : null)
  }
  /** Inserts rows by age, newest first. */
  const insert = (added: readonly Row[]): void => {
    for (const row of added.toReversed()) {
      const id = row.log.prospectLogId
      if (rows.has(id)) continue
      const element = rowOf(row, signal, onToggle)
      const nextOlder = idsByAge().findLast((other) => other < id) ?? ''
      body.insertBefore(element, rows.get(nextOlder) ?? null)
      rows.set(id, element)
    }
  }
  const newest = (): Row | null => rows.get(idsByAge().at(-1) ?? '')?.row ?? null
  const onGone = (ids: readonly string[]): void => {
    if (ids.length === 0) return
    for (const id of ids) remove(id)
    onNewest(newest(), null)
  }
  const onRows = (added: readonly Row[], restart: Restart | null): void => {
    if (restart) for (const id of idsByAge()) remove(id)
    insert(added)
    const surplus = idsByAge().slice(0, Math.max(rows.size - max, 0))
    for (const id of surplus.filter((id) => !opened.has(id))) remove(id)
    onNewest(newest(), restart)
    mark.set(state())
  }
  const onWaiting = (count: number, isMore: boolean): void => {
    fresh.hidden = count === 0
    const activities = count === 1 ? 'new activity' : 'new activities'
    fresh.textContent = isMore ? `${count} or more ${activities}` : `${count} ${activities}`
    mark.set(state())
  }
  const tail = followLogs({
    signal,
    query,
    state,
    onRows,
    onWaiting,
    onState: mark.set,
    shown: () => rows,
    limit: Math.min(max, SLICE_LENGTH),
    onGone,
  })
  const element = table(COLUMNS, [])
  element.tBodies[0]?.replaceWith(body)
  element.classList.add('activities')
  return {
    element,
    fresh,
    first: tail.first,
    state,
    size: () => rows.size,
    logs: () => [...rows.values()].map(({ row }) => row.log),
    oldest: () => idsByAge()[0],
    insert,
    open: (id: string) => rows.get(id)?.opener.click(),
    has: (id: string) => rows.has(id),
  }
}
