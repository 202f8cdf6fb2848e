import { activityDetail, pageOf, whoDid } from './activity-detail.ts'
import { bdi, button, counted, h, when } from './dom.ts'
import { below, expander, row as rowWith, table } from './lists.ts'
import { followLogs, type LiveState, type liveMark, type Restart, type Row, SLICE_LENGTH } from './live.ts'

export const ROWS_MAX = 500
/** A reader who has scrolled this far keeps reading. */
const SCROLLED_PX = 120
/** A row that opens in place. */
const rowOf = (row: Row, signal: AbortSignal, onToggle: (row: Row, opened: HTMLElement | null) => void) => {
  const { log, start } = row
  const opener = expander(
    whoDid(log, signal),
    async () => below(element, 5, await activityDetail(log.prospectLogId, signal)),
    () => {
      onToggle(row, opener.getAttribute('aria-expanded') === 'true' ? element : null)
    },
  )
  const onclick = (event: Event) =>
    (event.target as Element).closest('button, a') === null && getSelection()?.isCollapsed && opener.click()
  const element = rowWith(
    when(log.createdAt),
    opener,
    bdi(log.source),
    h('bdi.tag', log.type),
    h('td.start.mono', pageOf(row.pageId), bdi(start)),
  )
  element.addEventListener('click', onclick)
  return Object.assign(element, { opener, row })
}

type TailOptions = {
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
export const activityTable = (options: TailOptions) => {
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
  const remove = (id: string): void => {
    const element = rows.get(id)
    if (opened.has(id)) element?.nextElementSibling?.remove()
    element?.remove()
    opened.delete(id)
    rows.delete(id)
  }
  const toggled = ({ log }: Row, element: HTMLElement | null): void => {
    // A row that has left the table while it was read holds nothing.
    if (element?.isConnected) opened.add(log.prospectLogId)
    else opened.delete(log.prospectLogId)
    mark.set(state())
    onOpened?.(element ? log.prospectLogId : null)
  }
  /** Newest first, whatever order they come in. */
  const insert = (added: readonly Row[]): void => {
    for (const row of added.toReversed()) {
      const id = row.log.prospectLogId
      if (rows.has(id)) continue
      const element = rowOf(row, signal, toggled)
      let older = ''
      for (const other of rows.keys()) if (other < id && other > older) older = other
      body.insertBefore(element, rows.get(older) ?? null)
      rows.set(id, element)
    }
  }
  const newest = (): Row | null => rows.get([...rows.keys()].sort().at(-1) ?? '')?.row ?? null
  const onGone = (ids: readonly string[]): void => {
    if (ids.length === 0) return
    for (const id of ids) remove(id)
    onNewest(newest(), null)
  }
  const onRows = (added: readonly Row[], restart: Restart | null): void => {
    if (restart) for (const id of [...rows.keys()]) remove(id)
    insert(added)
    const ids = [...rows.keys()].sort()
    for (const id of ids.slice(0, Math.max(ids.length - max, 0))) if (!opened.has(id)) remove(id)
    onNewest(newest(), restart)
    mark.set(state())
  }
  const onWaiting = (count: number, isMore: boolean): void => {
    fresh.hidden = count === 0
    const number = isMore ? `${count} or more` : count
    fresh.textContent = counted(count, 'new activity', 'new activities').replace(`${count}`, `${number}`)
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
  const element = table(['When', 'Who', 'Source', 'Type', 'Payload'], [])
  element.tBodies[0]?.replaceWith(body)
  element.classList.add('activities')
  return {
    element,
    fresh,
    first: tail.first,
    state,
    size: () => rows.size,
    oldest: () => [...rows.keys()].sort()[0],
    /** Older rows, at the end. */
    append: insert,
    open: (id: string) => rows.get(id)?.opener.click(),
    has: (id: string) => rows.has(id),
  }
}
