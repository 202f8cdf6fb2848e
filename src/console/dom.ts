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
type Content = readonly [first?: Attributes | Child, ...others: Child[]]
const isAttributes = (first: Attributes | Child): first is Attributes =>
  (first as object | null | undefined)?.constructor === Object
const made = <E extends Element>(element: E, [first, ...others]: Content): E =>
  isAttributes(first) ? fill(element, first, others) : fill(element, {}, [first, others])
/** An element: `h('p.muted', { title }, 'text')`, or without attributes. Those that begin with `on` are listeners. */
export const h = <Tag extends keyof HTMLElementTagNameMap>(
  what: Tag | `${Tag}.${string}`,
  ...content: Content
): HTMLElementTagNameMap[Tag] => {
  const [tag = '', ...classes] = what.split('.')
  const element = document.createElement(tag)
  if (classes.length > 0) element.className = classes.join(' ')
  return made(element, content) as HTMLElementTagNameMap[Tag]
}
export const svg = (tag: string, ...content: Content): SVGElement =>
  made(document.createElementNS('http://www.w3.org/2000/svg', tag) as SVGElement, content)
export const icon = (name: string) =>
  svg('svg', { class: 'icon', 'aria-hidden': 'true' }, svg('use', { href: `icons.svg#${name}` }))

export const card = (...children: readonly Child[]) => h('section.card', ...children)
/** Names and values, such as those of one person. Those without a value are left out. */
export const facts = (pairs: Readonly<Record<string, Child>>) =>
  h(
    'dl.facts',
    Object.entries(pairs).map(([name, value]) => value && [h('dt', name), h('dd', value)]),
  )
export const when = (at: string | null) => h('td.when', at ? time(at) : 'never')
/** A state in a word; `kind` is its color. */
export const tag = (text: string, kind: 'ok' | 'warning' | 'bad' | '' = '') =>
  h('span', { class: `tag ${kind}` }, text)
export const actions = (...children: readonly Child[]) => h('div.actions', ...children)
/** A text of someone else, which may be written from right to left. */
export const bdi = (text: Child) => text && h('bdi', text)
/** A link to what this is part of. */
export const crumb = (text: Child, ...parts: readonly string[]) =>
  h('a.crumbs', { href: addressOf(parts) }, text)
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
export const closeMenu = (): void => {
  document.body.classList.remove('menu-open')
  for (const menu of document.querySelectorAll('.menu')) menu.ariaExpanded = 'false'
}
/** The reader's location: `#/people/prospect_…?source=crm`. */
export type Place = {
  readonly view: string
  readonly id?: string | undefined
  readonly subId?: string | undefined
  readonly search: URLSearchParams
}
/** A view returns its content, and works until the signal. */
export type View = (place: Place, signal: AbortSignal) => Child | Promise<Child>
type Search = URLSearchParams | Readonly<Record<string, string>>
/** The address of a view: `#/people/prospect_…?source=crm`. */
export const addressOf = (parts: readonly string[], search: Search = {}): string => {
  const chosen = [...new URLSearchParams(search)].filter(([, value]) => value !== '')
  const query = new URLSearchParams(chosen).toString()
  return `#/${parts.map(encodeURIComponent).join('/')}${query && `?${query}`}`
}
export const goTo = (parts: readonly string[], search?: Search): void => {
  location.hash = addressOf(parts, search)
}
/** Remembers the opened item without a new view. */
export const replaceAddress = (parts: readonly string[], search: Search): void =>
  history.replaceState(null, '', addressOf(parts, search))
/** The subject of a row, as a link to it, if there is anything to see. */
export const rowLink = (href: string | null, title: string, note?: string | null) =>
  h(
    href === null ? 'span' : 'a',
    { href, 'data-row': href !== null },
    h('b', bdi(title)),
    note && h('small', bdi(note)),
  )
/** A name and an email as people know each other, never an id. */
export const person = ({ name, email }: { readonly name: string | null; readonly email: string | null }) =>
  name || email
    ? [h('b', bdi(name || email)), name && email && h('small', bdi(email))]
    : h('b.muted', 'no name yet')

const UNITS = [
  [1_000, 'second'],
  [60_000, 'minute'],
  [3_600_000, 'hour'],
  [86_400_000, ''],
] as const
const DATE = { day: 'numeric', month: 'short', year: 'numeric' } as const
const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' } as const
const dateFormat = new Intl.DateTimeFormat('en-GB', DATE)
const timeFormat = new Intl.DateTimeFormat('en-GB', { ...DATE, ...CLOCK })
export const absolute = (time: string): string => timeFormat.format(new Date(time))
/** `12 seconds ago`; a date once that is more than a day. */
const relative = (time: string): string => {
  const past = Date.now() - Date.parse(time)
  const ms = Math.abs(past)
  const [unitMs, word] = UNITS.findLast(([unitMs]) => ms >= unitMs) ?? []
  if (!unitMs) return 'just now'
  if (!word) return dateFormat.format(new Date(time))
  const text = counted(Math.floor(ms / unitMs), word)
  return past < 0 ? `in ${text}` : `${text} ago`
}
/** A time that goes on; the absolute one on hover, and while its row has the focus. */
export const time = (at: string) => h('time', { datetime: at, title: absolute(at) }, relative(at))
export const refreshTimes = (): void => {
  for (const element of document.querySelectorAll('time')) {
    const text = relative(element.dateTime)
    if (element.textContent !== text) element.textContent = text
  }
}
