/** The content of an element: nodes and text. Nothing else becomes part of the page, so no text becomes markup. */
export type Child = Node | string | number | null | undefined | false | readonly Child[]
type Value = string | number | boolean | null | undefined
export type Attributes = Readonly<Record<string, Value | ((event: Event) => unknown)>>

const fill = <E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E => {
  for (const child of children.flat(9) as unknown[])
    if (child instanceof Node) element.append(child)
    else if (child || child === 0) element.append(String(child))
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value)
    else if (name === 'value') Object.assign(element, { value: value ?? '' })
    else if (value !== undefined && value !== null && value !== false)
      element.setAttribute(name, value === true ? '' : String(value))
  }
  return element
}
/** An element: `h('p.muted', { title }, 'text')`. Attributes that begin with `on` are listeners. */
export const h = <Tag extends keyof HTMLElementTagNameMap>(
  what: Tag | `${Tag}.${string}`,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] => {
  const [tag = '', ...classes] = what.split('.')
  const named = classes.length > 0 ? { class: classes.join(' '), ...attributes } : attributes
  return fill(document.createElement(tag as Tag), named, children)
}
export const svg = (tag: string, attributes: Attributes = {}, ...children: readonly Child[]): SVGElement =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', tag) as SVGElement, attributes, children)
export const icon = (name: string) =>
  svg('svg', { class: 'icon', 'aria-hidden': 'true' }, svg('use', { href: `icons.svg#${name}` }))

export const card = (...children: readonly Child[]) => h('section.card', {}, ...children)
/** Names and values, such as those of one person. Those without a value are left out. */
export const facts = (pairs: Readonly<Record<string, Child>>) =>
  h(
    'dl.facts',
    {},
    Object.entries(pairs).map(([name, value]) => value && [h('dt', {}, name), h('dd', {}, value)]),
  )
/** A table; below 700 px its rows are cards. */
export const table = (heads: readonly string[], rows: readonly Child[]) => {
  const head = h(
    'tr',
    {},
    heads.map((name) => h('th', { scope: 'col' }, name)),
  )
  return h('table', {}, h('thead', {}, head), h('tbody', {}, rows))
}
export const button = (text: Child, onclick: (event: Event) => unknown, attributes: Attributes = {}) =>
  h('button', { type: 'button', onclick, ...attributes }, text)
/** `1 activity`, `2 activities`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`
const nameOf = (element: Element): string => element.getAttribute('aria-label') ?? element.textContent
/** The name of a control, and the subject of its row: each row may have one of that name. */
const nameInRow = (element: Element): string => {
  const row = element.closest('tr')?.querySelector('[data-row]')
  return `${nameOf(element)} ${row?.getAttribute('href') ?? row?.textContent ?? ''}`
}
/** Puts new content in place of the old. The focus stays on the control of the same name. */
export const refill = (place: HTMLElement, ...children: readonly Child[]): void => {
  const { activeElement } = document
  const focused =
    activeElement && activeElement !== place && place.contains(activeElement) ? activeElement : null
  const wanted = focused && nameInRow(focused)
  const alike = () =>
    [...place.querySelectorAll<HTMLElement>(focused?.tagName ?? 'none')].filter(
      (element) => nameInRow(element) === wanted,
    )
  const index = focused ? alike().indexOf(focused as HTMLElement) : -1
  place.replaceChildren()
  fill(place, {}, children)
  if (focused === null) return
  const found = alike()
  ;(found[index] ?? found[0] ?? place.closest<HTMLElement>('main'))?.focus({ preventScroll: true })
}
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
      opener.setAttribute('aria-expanded', String(shown !== undefined))
      onToggle()
    }
  }
  const attributes = { class: 'open', 'aria-expanded': 'false', 'data-row': true }
  const opener: HTMLButtonElement = button(text, toggle, attributes)
  return opener
}
/** Puts a detail below a row. */
export const below = (row: HTMLElement, columns: number, detail: Child): HTMLElement => {
  const opened = h('tr.opened', {}, h('td', { colspan: columns }, detail))
  row.after(opened)
  return opened
}
export const closeMenu = (): void => {
  document.body.classList.remove('menu-open')
  document.querySelector('.menu')?.setAttribute('aria-expanded', 'false')
}
/** A few choices, one of them chosen. */
export const segments = (
  label: string,
  options: Readonly<Record<string, string>>,
  chosen: string,
  choose: (value: string) => unknown,
) => {
  const press = (value: string): void => {
    for (const one of group.children)
      one.setAttribute('aria-pressed', String(one.getAttribute('data-value') === value))
    choose(value)
  }
  const buttons = Object.entries(options).map(([value, text]) =>
    button(text, () => press(value), { 'data-value': value, 'aria-pressed': String(value === chosen) }),
  )
  const group: HTMLElement = h('div.segments', { role: 'group', 'aria-label': label }, buttons)
  return group
}
/** The subject of a row, as a link to it, if there is anything to see. */
export const rowLink = (href: string | null, title: string, note?: string | null) =>
  h(
    href === null ? 'span' : 'a',
    { href, 'data-row': href !== null },
    h('b', {}, h('bdi', {}, title)),
    note && h('small', {}, h('bdi', {}, note)),
  )
/** A name and an email as people know each other, never an id. */
export const person = ({ name, email }: { readonly name: string | null; readonly email: string | null }) =>
  name || email
    ? [h('b', {}, h('bdi', {}, name || email)), name && email && h('small', {}, h('bdi', {}, email))]
    : h('b.muted', {}, 'no name yet')

const UNITS = [
  [1_000, 's', 'second'],
  [60_000, 'min', 'minute'],
  [3_600_000, 'h', 'hour'],
  [86_400_000, '', ''],
] as const
const DATE = { day: 'numeric', month: 'short', year: 'numeric' } as const
const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' } as const
const dateFormat = new Intl.DateTimeFormat('en-GB', DATE)
const timeFormat = new Intl.DateTimeFormat('en-GB', { ...DATE, ...CLOCK })
export const absolute = (time: string): string => timeFormat.format(new Date(time))
/** `12 s`, or long `12 seconds ago`; a date once that is more than a day. */
const relative = (time: string, isLong: boolean): string => {
  const past = Date.now() - Date.parse(time)
  const ms = Math.abs(past)
  const next = UNITS.findIndex(([unitMs]) => ms < unitMs)
  if (next === 0) return isLong ? 'just now' : 'now'
  const [unitMs, short, word] = UNITS[next < 0 ? 3 : next - 1] ?? UNITS[3]
  if (!word) return dateFormat.format(new Date(time))
  const count = Math.floor(ms / unitMs)
  const text = isLong ? `${count} ${word}${count === 1 ? '' : 's'}` : `${count} ${short}`
  if (past < 0) return `in ${text}`
  return isLong ? `${text} ago` : text
}
/** A time that goes on; the absolute one on hover, and while its row has the focus. */
export const time = (at: string, isLong = false) =>
  h('time', { datetime: at, title: absolute(at), 'data-long': isLong }, relative(at, isLong))
export const refreshTimes = (): void => {
  for (const element of document.querySelectorAll<HTMLTimeElement>('time')) {
    const text = relative(element.dateTime, 'long' in element.dataset)
    if (element.textContent !== text) element.textContent = text
  }
}
