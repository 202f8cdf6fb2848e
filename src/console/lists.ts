import { pollOf, type Slice } from './api.ts'
import { button, type Child, card, h, refill } from './dom.ts'
import { repeat } from './repeat.ts'

/** A table; below 860 px its rows are cards. */
export const table = (heads: readonly Child[], rows: readonly Child[]) => {
  const names = heads.map((name) => h('th', { scope: 'col' }, name))
  return h('table', h('thead', h('tr', names)), h('tbody', rows))
}

/** A row of a table: each child is a cell, or its content. */
export const row = (...cells: readonly Child[]) =>
  h(
    'tr',
    cells.map((cell) => (cell instanceof HTMLTableCellElement ? cell : h('td', cell))),
  )

/**
 * A button that opens something in place and closes it again. `show` puts it on the page. With `data-row` the keys j and k
 * move between these buttons.
 */
export const expander = (
  text: Child,
  show: () => HTMLElement | Promise<HTMLElement>,
  onToggle = () => {},
) => {
  let opened: HTMLElement | undefined
  let isBusy = false
  const toggle = async (): Promise<void> => {
    if (isBusy) return
    isBusy = true
    try {
      opened?.remove()
      opened = opened ? undefined : await show()
    } finally {
      isBusy = false
      opener.ariaExpanded = String(opened !== undefined)
      onToggle()
    }
  }
  const attributes = { class: 'open', 'aria-expanded': 'false', 'data-row': true }
  const opener: HTMLButtonElement = button(text, toggle, attributes)
  return opener
}

/** Lets a click anywhere in a row open it, unless it is on a control or selects text. */
export const openByClick = (row: HTMLElement, opener: HTMLElement): void =>
  row.addEventListener('click', ({ target }) => {
    const isOnControl = (target as Element).closest('button, a') !== null
    if (!isOnControl && getSelection()?.isCollapsed) opener.click()
  })

/** Puts a detail below a row. */
export const below = (row: HTMLElement, columns: number, detail: Child): HTMLElement => {
  const detailRow = h('tr.opened', h('td', { colspan: columns }, detail))
  row.after(detailRow)
  return detailRow
}

/** Buttons for a few choices, of which one is pressed. `texts` are their texts by value. */
export const segments = (
  label: string,
  texts: Readonly<Record<string, string>>,
  chosen: string,
  choose: (value: string) => unknown,
) => {
  const press = (value: string): void => {
    for (const segment of buttons) segment.ariaPressed = String(segment.dataset['value'] === value)
  }
  const buttons = Object.entries(texts).map(([value, text]) => {
    const onclick = () => {
      press(value)
      choose(value)
    }
    return button(text, onclick, { 'data-value': value })
  })
  press(chosen)
  return h('div.segments', { role: 'group', 'aria-label': label }, buttons)
}

/** A button that loads the next slice of a list. `follow` sets the cursor of that slice, and hides the button without one. */
export const loadMore = (load: (cursor: string) => Promise<string | undefined>, text = 'Load older') => {
  let cursor: string | undefined
  const run = async (): Promise<void> => {
    element.disabled = true
    try {
      follow(await load(cursor ?? ''))
    } finally {
      element.disabled = false
    }
  }
  const follow = (next: string | undefined): void => {
    cursor = next
    element.hidden = next === undefined
  }
  const element: HTMLButtonElement = button(text, run, { class: 'more', hidden: true })
  return { element, follow }
}

/** A table that loads slice by slice. `none` is shown while it is empty. */
export const sliced = async <T>(
  heads: readonly string[],
  load: (cursor: string | undefined) => Promise<Slice<T>>,
  rowOf: (item: T) => HTMLElement,
  none: Child,
) => {
  const list = table(heads, [])
  const addSlice = async (cursor?: string): Promise<string | undefined> => {
    const slice = await load(cursor)
    list.tBodies[0]?.append(...slice.items.map(rowOf))
    return slice.nextCursor
  }
  const more = loadMore(addSlice)
  more.follow(await addSlice())
  const hasRows = list.tBodies[0]?.hasChildNodes()
  return card(hasRows ? list : h('p.muted.empty', none), more.element)
}

type LiveTable<Item> = {
  readonly signal: AbortSignal
  readonly path: string
  readonly heads: readonly string[]
  readonly rowOf: (item: Item) => HTMLElement
  /** Shown while the list is empty. */
  readonly none: Child
}

/** A table of a short list, such as all endpoints, that is read again every few seconds. */
export const liveTable = async <Item>({ signal, path, heads, rowOf, none }: LiveTable<Item>) => {
  const list = h('div')
  const poll = pollOf<{ readonly items: readonly Item[] }>(path)
  const work = async (): Promise<void> => {
    const answer = await poll({}, signal)
    if (answer === null) return
    const rows = answer.value.items.map(rowOf)
    refill(list, rows.length > 0 ? table(heads, rows) : h('div.empty', none))
  }
  await repeat({ signal, work })
  return card(list)
}
