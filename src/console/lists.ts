import { repeated, type Slice, session } from './api.ts'
import { button, type Child, card, closeMenu, facts, goTo, h, refill } from './dom.ts'
import { repeat } from './live.ts'

/** A table; below 860 px its rows are cards. */
export const table = (heads: readonly string[], rows: readonly Child[]) => {
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
 * A button that opens something in place and closes it again. `show` puts it there.
 * `data-row`: the keys j and k lead from one to the next.
 */
export const expander = (
  text: Child,
  show: () => HTMLElement | Promise<HTMLElement>,
  onToggle = () => {},
) => {
  let shown: HTMLElement | undefined
  let isBusy = false
  const toggle = async (): Promise<void> => {
    if (isBusy) return
    isBusy = true
    try {
      shown?.remove()
      shown = shown ? undefined : await show()
    } finally {
      isBusy = false
      opener.ariaExpanded = String(shown !== undefined)
      onToggle()
    }
  }
  const attributes = { class: 'open', 'aria-expanded': 'false', 'data-row': true }
  const opener: HTMLButtonElement = button(text, toggle, attributes)
  return opener
}
/** Puts a detail below a row. */
export const below = (row: HTMLElement, columns: number, detail: Child): HTMLElement => {
  const opened = h('tr.opened', h('td', { colspan: columns }, detail))
  row.after(opened)
  return opened
}
/** A few choices, one of them chosen. */
export const segments = (
  label: string,
  options: Readonly<Record<string, string>>,
  chosen: string,
  choose: (value: string) => unknown,
) => {
  const press = (value: string): void => {
    for (const [one, button] of buttons) button.ariaPressed = String(one === value)
  }
  const buttons = Object.entries(options).map(([value, text]) => {
    const onclick = () => {
      press(value)
      choose(value)
    }
    return [value, button(text, onclick)] as const
  })
  press(chosen)
  return h(
    'div.segments',
    { role: 'group', 'aria-label': label },
    buttons.map(([, one]) => one),
  )
}

/** A button that loads the next slice of a list, one at a time. `follow` sets where it goes on, if it does. */
export const loadMore = (load: (cursor: string) => Promise<string | undefined>, text = 'Load older') => {
  let next: string | undefined
  const run = async (): Promise<void> => {
    element.disabled = true
    try {
      follow(await load(next ?? ''))
    } finally {
      element.disabled = false
    }
  }
  const follow = (cursor: string | undefined): void => {
    next = cursor
    element.hidden = cursor === undefined
  }
  const element: HTMLButtonElement = button(text, run, { class: 'more', hidden: true })
  return { element, follow }
}

/** A table that loads slice by slice. */
export const sliced = async <T>(
  heads: readonly string[],
  load: (cursor: string | undefined) => Promise<Slice<T>>,
  rowOf: (item: T) => HTMLElement,
  none: Child,
) => {
  const list = table(heads, [])
  const next = async (cursor?: string): Promise<string | undefined> => {
    const slice = await load(cursor)
    list.tBodies[0]?.append(...slice.items.map(rowOf))
    return slice.nextCursor
  }
  const more = loadMore(next)
  more.follow(await next())
  return card(list.tBodies[0]?.childElementCount ? list : h('p.muted.empty', none), more.element)
}

type Options<Item> = {
  readonly signal: AbortSignal
  readonly path: string
  readonly heads: readonly string[]
  readonly rowOf: (item: Item) => HTMLElement
  /** The text shown while there are none. */
  readonly none: string
}
/** A short list that is read again and again, such as all endpoints. */
export const liveTable = async <Item>({ signal, path, heads, rowOf, none }: Options<Item>) => {
  const list = h('div')
  const poll = repeated<{ readonly items: readonly Item[] }>(path)
  const work = async (): Promise<void> => {
    const answer = await poll({}, signal)
    if (answer === null) return
    const rows = answer.value.items.map(rowOf)
    refill(list, rows.length > 0 ? table(heads, rows) : h('p.muted.empty', none))
  }
  await repeat({ signal, work })
  return card(list)
}

/** Saves a file as the browser saves others. */
export const saveFile = (name: string, file: Blob): void => {
  const href = URL.createObjectURL(file)
  h('a', { href, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
}

const mainNow = () => document.getElementById('main') as HTMLElement
const KEYS: Readonly<Record<string, string>> = {
  '/': 'find a person',
  'j k': 'next and previous row',
  Enter: 'open a row',
  Esc: 'close it',
  '?': 'this list',
}
/** After g: the views in their order. */
const GO = 'napgswe'
const views = () => [...document.querySelectorAll<HTMLElement>('nav a')]
/** To the search for people, from anywhere. */
const find = (): void => {
  const field = mainNow().querySelector<HTMLElement>('[name=q]')
  field ? field.focus() : goTo(['people'], { find: '1' })
}
let goesMs = 0
export const onKey = (event: KeyboardEvent): void => {
  const { key, target } = event
  const isOther = event.ctrlKey || event.metaKey || event.altKey
  if (session.self === null || isOther || document.querySelector('dialog[open]')) return
  const isTyping = (target as Element).matches('input, textarea, select')
  if (key === 'Escape') {
    const opened = [...mainNow().querySelectorAll<HTMLElement>('[aria-expanded=true]')].at(-1)
    closeMenu()
    if (isTyping) {
      // A search field would lose its text.
      event.preventDefault()
      ;(target as HTMLElement).blur()
      return
    }
    opened?.click()
    opened?.focus()
    return
  }
  if (isTyping) return
  const rows = [...mainNow().querySelectorAll<HTMLElement>('[data-row]')]
  const view = Date.now() - goesMs < 1_500 ? views()[GO.indexOf(key)] : undefined
  goesMs = key === 'g' && !view ? Date.now() : 0
  if (view) view.click()
  else if (key === '/') find()
  else if (key === '?') void help()
  else if (key === 'j' || key === 'k') {
    const at = rows.indexOf(document.activeElement as HTMLElement)
    rows[Math.max(key === 'j' ? Math.min(at + 1, rows.length - 1) : at - 1, 0)]?.focus()
  } else return
  event.preventDefault()
}
export const help = async () => {
  const { openDialog } = await import('./dialog.ts')
  const go = views().map((view, i) => [`g ${GO[i]}`, view.querySelector('span')?.textContent])
  const dialog: HTMLDialogElement = h(
    'dialog',
    { 'aria-label': 'Shortcuts' },
    h('h2', 'Shortcuts'),
    facts({ ...KEYS, ...Object.fromEntries(go) }),
    button('Close', () => dialog.close()),
  )
  openDialog(dialog)
}
