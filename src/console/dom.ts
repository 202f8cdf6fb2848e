/** The content of an element: nodes and text. Nothing else becomes part of the page, so no text becomes markup. */
export type Child = Node | string | number | null | undefined | false | readonly Child[]
type Value = string | number | boolean | null | undefined
export type Attributes = Readonly<Record<string, Value | ((event: Event) => unknown)>>

/** Children may be nested: no view nests them as deep as this. */
const NESTED_MAX = 9
const fill = <E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E => {
  for (const child of children.flat(NESTED_MAX) as unknown[]) {
    if (child instanceof Node) element.append(child)
    else if (child || child === 0) element.append(String(child))
  }
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value)
    // The attribute is only the initial value of an input, and a select has none: the property is what both show.
    else if (name === 'value') Object.assign(element, { value: value ?? '' })
    else if (value !== undefined && value !== null && value !== false)
      element.setAttribute(name, value === true ? '' : String(value))
  }
  return element
}

type AttributesOrChild = Attributes | Child
const isAttributes = (first: AttributesOrChild): first is Attributes =>
  (first as object | null | undefined)?.constructor === Object
const fillFrom = <E extends Element>(element: E, first: AttributesOrChild, others: readonly Child[]): E =>
  isAttributes(first) ? fill(element, first, others) : fill(element, {}, [first, ...others])

/**
 * Creates an element: `h('p.muted', { title }, 'text')`, or `h('p.muted', 'text')` without attributes. Attributes whose
 * names begin with `on` are listeners.
 */
export const h = <Tag extends keyof HTMLElementTagNameMap>(
  selector: Tag | `${Tag}.${string}`,
  first?: AttributesOrChild,
  ...others: readonly Child[]
): HTMLElementTagNameMap[Tag] => {
  const [tag = '', ...classes] = selector.split('.')
  const element = document.createElement(tag)
  if (classes.length > 0) element.className = classes.join(' ')
  return fillFrom(element, first, others) as HTMLElementTagNameMap[Tag]
}

const SVG_NAMESPACE = 'http://www.w3.org/2000/svg'
export const svg = (tag: string, first?: AttributesOrChild, ...others: readonly Child[]): SVGElement =>
  fillFrom(document.createElementNS(SVG_NAMESPACE, tag) as SVGElement, first, others)

export const icon = (name: string) =>
  svg('svg', { class: 'icon', 'aria-hidden': 'true' }, svg('use', { href: `icons.svg#${name}` }))

export const card = (...children: readonly Child[]) => h('section.card', ...children)

/** A list of names and values, such as those of one person. A name without a value is left out. */
export const facts = (pairs: Readonly<Record<string, Child>>) =>
  h(
    'dl.facts',
    Object.entries(pairs).map(([name, value]) => value && [h('dt', name), h('dd', value)]),
  )

export const when = (at: string | null, none = 'never') => h('td.when', at ? time(at) : none)

/** A state in one word. `kind` is its color. */
export const tag = (text: string, kind: 'ok' | 'warning' | 'bad' | '' = '') =>
  h('span', { class: `tag ${kind}` }, text)

export const actions = (...children: readonly Child[]) => h('div.actions', ...children)

/** A text written by others, which may run from right to left. */
export const bdi = (text: Child) => text && h('bdi', text)

/** A link from a view to the view above it. */
export const crumb = (text: Child, ...parts: readonly string[]) =>
  h('a.crumbs', { href: addressOf(parts) }, text)

/** A button. Pressing it again does nothing until what it started has ended. */
export const button = (text: Child, run: (event: Event) => unknown, attributes: Attributes = {}) => {
  let isBusy = false
  const onclick = async (event: Event): Promise<void> => {
    if (isBusy) return
    isBusy = true
    try {
      await run(event)
    } finally {
      isBusy = false
    }
  }
  return h('button', { type: 'button', onclick, ...attributes }, text)
}

/** `1 activity`, `2 activities`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

/** Replaces the content of an element. The focus stays on the control of the same name. */
export const refill = (place: HTMLElement, ...children: readonly Child[]): void => {
  const fillAgain = () => {
    place.replaceChildren()
    fill(place, {}, children)
  }
  const focused = focusedIn(place)
  if (focused === null) {
    fillAgain()
    return
  }

  const name = nameInRow(focused)
  const namesakes = () => {
    const controls = place.querySelectorAll<HTMLElement>(focused.tagName)
    return [...controls].filter((control) => nameInRow(control) === name)
  }
  const index = namesakes().indexOf(focused)
  fillAgain()
  const candidates = namesakes()
  const replacement = candidates[index] ?? candidates[0] ?? place.closest<HTMLElement>('main')
  replacement?.focus({ preventScroll: true })
}

const focusedIn = (place: HTMLElement): HTMLElement | null => {
  const { activeElement } = document
  const isInside = activeElement !== place && place.contains(activeElement)
  return isInside ? (activeElement as HTMLElement) : null
}

/** The name of a control and the subject of its row, because each row may have a control of that name. */
const nameInRow = (control: Element): string => {
  const name = control.getAttribute('aria-label') ?? control.textContent
  const subject = control.closest('tr')?.querySelector('[data-row]')
  return `${name} ${subject?.getAttribute('href') ?? subject?.textContent ?? ''}`
}

export const closeMenu = (): void => {
  document.body.classList.remove('menu-open')
  for (const menu of document.querySelectorAll('.menu')) menu.ariaExpanded = 'false'
}

/** The place that the address names: `#/people/prospect_…?source=crm`. */
export type Place = {
  readonly view: string
  readonly id?: string | undefined
  readonly subId?: string | undefined
  readonly search: URLSearchParams
}

/** A view returns its content. It may update it until the signal is aborted. */
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

/** Changes the address without showing a view, such as when an item is opened in place. */
export const replaceAddress = (parts: readonly string[], search: Search): void =>
  history.replaceState(null, '', addressOf(parts, search))

/** The subject of a row, as a link unless `href` is null. */
export const rowLink = (href: string | null, title: string, note?: string | null) =>
  h(
    href === null ? 'span' : 'a',
    { href, 'data-row': href !== null },
    h('b', bdi(title)),
    note && h('small', bdi(note)),
  )

/** A person by name and email, as people know each other. */
export const person = ({ name, email }: { readonly name: string | null; readonly email: string | null }) =>
  name || email
    ? [h('b', bdi(name || email)), name && email && h('small', bdi(email))]
    : h('b.muted', 'no name yet')

const LANGUAGE = 'en-GB'
const CLOCK = { hour: '2-digit', minute: '2-digit' } as const
const clockFormat = new Intl.DateTimeFormat(LANGUAGE, CLOCK)
const dateFormat = new Intl.DateTimeFormat(LANGUAGE, { day: 'numeric', month: 'short' })
const dateOfYearFormat = new Intl.DateTimeFormat(LANGUAGE, {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
})
const dayOfWeekFormat = new Intl.DateTimeFormat(LANGUAGE, { weekday: 'long', day: 'numeric', month: 'long' })
const exactFormat = new Intl.DateTimeFormat(LANGUAGE, {
  weekday: 'short',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  ...CLOCK,
  second: '2-digit',
  timeZoneName: 'short',
})

/** The exact time, with the reader's time zone. */
export const absolute = (time: string): string => exactFormat.format(new Date(time))

/** The beginning of a day in the reader's time zone: 0 is today, -1 yesterday. */
export const startOfDay = (days: number): Date => {
  const date = new Date()
  date.setHours(0, 0, 0, 0)
  date.setDate(date.getDate() + days)
  return date
}

const NEAR_DAYS: Readonly<Record<number, string>> = { '-1': 'yesterday', 0: 'today', 1: 'tomorrow' }
/** `today, 18:24`, or a date and the time. */
const dayAndClock = (at: string): string => {
  const date = new Date(at)
  const days = [-1, 0, 1].find((days) => date >= startOfDay(days) && date < startOfDay(days + 1))
  const isThisYear = date.getFullYear() === new Date().getFullYear()
  const format = isThisYear ? dateFormat : dateOfYearFormat
  const day = days === undefined ? format.format(date) : NEAR_DAYS[days]
  return `${day}, ${clockFormat.format(date)}`
}

/** `Monday, 30 November, 09:00`: a time to which a reader looks ahead. */
export const dayOfWeek = (at: string): string => {
  const date = new Date(at)
  return `${dayOfWeekFormat.format(date).replace(/^(\w+) /, '$1, ')}, ${clockFormat.format(date)}`
}

const zoneFormat = new Intl.DateTimeFormat(LANGUAGE, { timeZoneName: 'short' })
/** `CET`: the reader's time zone at a time. */
export const zoneAt = (at: string): string =>
  zoneFormat.formatToParts(new Date(at)).find(({ type }) => type === 'timeZoneName')?.value ?? ''

const UNITS = [
  { ms: 3_600_000, name: 'hour' },
  { ms: 60_000, name: 'minute' },
  { ms: 1_000, name: 'second' },
]
/** `12 seconds ago`, or the day and the time if it was not today. */
const agoOf = (at: string): string => {
  const agoMs = Date.now() - Date.parse(at)
  if (new Date(at) < startOfDay(0)) return dayAndClock(at)
  const unit = UNITS.find(({ ms }) => agoMs >= ms)
  return unit === undefined ? 'just now' : `${counted(Math.floor(agoMs / unit.ms), unit.name)} ago`
}

const timeElement = (at: string, isAgo: boolean) =>
  h('time', { datetime: at, title: absolute(at), 'data-ago': isAgo }, isAgo ? agoOf(at) : dayAndClock(at))

/** `today, 18:24`. Its title is the exact time. */
export const time = (at: string) => timeElement(at, false)
/** `12 seconds ago`. Its title is the exact time. */
export const ago = (at: string) => timeElement(at, true)

/** Brings the shown times up to date. */
export const refreshTimes = (): void => {
  for (const element of document.querySelectorAll('time')) {
    const text = element.hasAttribute('data-ago') ? agoOf(element.dateTime) : dayAndClock(element.dateTime)
    if (element.textContent !== text) element.textContent = text
  }
}
