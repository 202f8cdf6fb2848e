import { can, Problem, session } from './api.ts'
import { attempt, complain } from './dialog.ts'
import { button, type Child, h, icon, refreshTimes } from './dom.ts'
import { addressOf, placeNow, type View } from './place.ts'

// The key of the link leaves the address before anything else.
const given = /^#key=(pp_[0-9A-Za-z]+)/.exec(location.hash)?.[1]
if (given) history.replaceState(null, '', location.pathname + location.search)

type Entry = { readonly title: string; readonly scope: string; readonly load: () => Promise<View> }
const VIEWS: Readonly<Record<string, Entry>> = {
  now: { title: 'Now', scope: 'prospect_logs:read', load: async () => (await import('./now.ts')).nowView },
  activity: {
    title: 'Activity',
    scope: 'prospect_logs:read',
    load: async () => (await import('./activity.ts')).activityView,
  },
  people: {
    title: 'People',
    scope: 'prospects:read',
    load: async () => (await import('./people.ts')).peopleView,
  },
  pages: {
    title: 'Pages',
    scope: 'page_groups:read',
    load: async () => (await import('./pages.ts')).pagesView,
  },
  sources: {
    title: 'Sources',
    scope: 'hooks:write',
    load: async () => (await import('./sources.ts')).sourcesView,
  },
  webhooks: {
    title: 'Webhooks',
    scope: 'webhooks:write',
    load: async () => (await import('./webhooks.ts')).webhooksView,
  },
  events: {
    title: 'Events',
    scope: 'events:read',
    load: async () => (await import('./events.ts')).eventsView,
  },
}
const EXPIRY_MS = 10 * 60_000
const app = document.getElementById('app') as HTMLElement
const main = h('main', { id: 'main', tabindex: -1 })

let ending = new AbortController()
let lastPlace = ''
/** Shows the view that the address names. */
const show = async (): Promise<void> => {
  ending.abort()
  ending = new AbortController()
  const { signal } = ending
  const place = placeNow()
  const name = place.view in VIEWS ? place.view : 'now'
  const { title, scope, load } = VIEWS[name] as Entry
  const focused = document.activeElement?.closest('main') ? document.activeElement.getAttribute('name') : null
  for (const link of document.querySelectorAll('nav a[data-view]')) {
    if (link.getAttribute('data-view') === name) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  document.body.classList.remove('menu-open')
  document.title = `${title} · ${session.self?.tenantName ?? 'prospect-pages'}`
  try {
    const content = can(scope) ? await (await load())(place, signal) : lacking(title, scope)
    if (signal.aborted) return
    main.replaceChildren(h('div.view', {}, content))
    const isMoved = lastPlace !== '' && lastPlace !== [place.view, place.id, place.subId].join()
    if (isMoved) {
      scrollTo(0, 0)
      main.focus({ preventScroll: true })
    } else if (focused) main.querySelector<HTMLElement>(`[name="${focused}"]`)?.focus()
    lastPlace = [place.view, place.id, place.subId].join()
  } catch (error) {
    if (signal.aborted) return
    const why = error instanceof Problem ? error.message : 'The server cannot be reached.'
    main.replaceChildren(
      h('div.view', {}, h('header', {}, h('h1', {}, title)), h('p', {}, why), button('Try again', show)),
    )
    if (!(error instanceof Problem)) complain(error)
  }
}
const lacking = (title: string, scope: string): Child => [
  h('header', {}, h('h1', {}, title)),
  h(
    'section.card',
    {},
    h('p', {}, 'Your key cannot see this: it lacks the scope ', h('code', {}, scope), '.'),
    h('p.muted', {}, 'Whoever runs the server opens a console that can:'),
    h('pre', {}, commandFor()),
  ),
]
const commandFor = () => `prospect-pages console --tenant ${session.self?.tenantId ?? 'T'} --write`

/** Keys of the keyboard, and what they do. */
const KEYS: Readonly<Record<string, string>> = {
  '/': 'search or filter',
  'j k': 'next and previous row',
  Enter: 'open a row',
  Esc: 'close it',
  'g, then n a p g s w e': 'now, activity, people, pages, sources, webhooks, events',
  '?': 'this list',
}
const GO: Readonly<Record<string, string>> = {
  n: 'now',
  a: 'activity',
  p: 'people',
  g: 'pages',
  s: 'sources',
  w: 'webhooks',
  e: 'events',
}
let goesMs = 0
const onKey = (event: KeyboardEvent): void => {
  const { key, target } = event
  if (
    session.self === null ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    document.querySelector('dialog[open]')
  )
    return
  const isTyping = (target as Element).matches('input, textarea, select')
  if (key === 'Escape') {
    const opened = [...main.querySelectorAll<HTMLElement>('[aria-expanded=true]')].at(-1)
    if (isTyping) (target as HTMLElement).blur()
    opened?.click()
    opened?.focus()
    return
  }
  if (isTyping) return
  const rows = [...main.querySelectorAll<HTMLElement>('[data-row]')]
  const view = Date.now() - goesMs < 1_500 ? GO[key] : undefined
  goesMs = key === 'g' && view === undefined ? Date.now() : 0
  if (view !== undefined) location.hash = addressOf([view])
  else if (key === '/') main.querySelector<HTMLElement>('input')?.focus()
  else if (key === '?') help()
  else if (key === 'j' || key === 'k') {
    const at = rows.indexOf(document.activeElement as HTMLElement)
    rows[key === 'j' ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0)]?.focus()
  } else return
  event.preventDefault()
}
const help = (): void => {
  const before = document.activeElement as HTMLElement | null
  const list = h(
    'dl.facts',
    {},
    Object.entries(KEYS).map(([key, text]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, text)]),
  )
  const dialog: HTMLDialogElement = h(
    'dialog',
    { 'aria-label': 'Keys' },
    h('h2', {}, 'Keys'),
    list,
    button('Close', () => dialog.close()),
  )
  dialog.addEventListener('close', () => {
    dialog.remove()
    before?.focus()
  })
  document.body.append(dialog)
  dialog.showModal()
}

const skip = (event: Event): void => {
  event.preventDefault()
  main.focus()
}
const shell = (): void => {
  const { self } = session
  const scopes = self?.scopes ?? []
  const links = Object.entries(VIEWS).map(([view, { title, scope }]) => {
    const why = can(scope) ? {} : { class: 'lacking', title: `Your key lacks the scope ${scope}` }
    return h('a', { href: addressOf([view]), 'data-view': view, ...why }, icon(view), h('span', {}, title))
  })
  const isReader = scopes.every((scope) => scope.endsWith(':read'))
  const expires = h('span', { id: 'expires' })
  const rail = h(
    'div.rail',
    {},
    h('div.brand', {}, h('b', {}, h('bdi', {}, self?.tenantName)), h('small', {}, 'prospect-pages')),
    button([icon('menu'), h('span', {}, 'Menu')], () => document.body.classList.toggle('menu-open'), {
      class: 'menu',
    }),
    h('nav', { 'aria-label': 'Views' }, links),
    h(
      'div.key',
      {},
      h('p', {}, h('bdi', {}, `Key “${self?.name ?? 'without a name'}”`), isReader && ', read only', expires),
      h(
        'div',
        {},
        button('Sign out', signOut, { class: 'link' }),
        button('Shortcuts', help, { class: 'link' }),
      ),
    ),
  )
  app.replaceChildren(
    h('a.skip', { href: '#main', onclick: skip }, 'Skip to the content'),
    rail,
    main,
    h('div.unseen', { id: 'arrivals', role: 'status' }),
  )
  watchExpiry()
}
/** Announces the end of the key ten minutes before. */
let isAnnounced = false
const watchExpiry = (): void => {
  const { self } = session
  const element = document.getElementById('expires')
  if (!self?.expiresAt || element === null) return
  const minutes = Math.max(Math.ceil((Date.parse(self.expiresAt) - Date.now()) / 60_000), 0)
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60]
  element.textContent = hours > 48 ? '' : `, ends in ${hours > 0 ? `${hours} h ` : ''}${rest} min`
  if (isAnnounced || minutes * 60_000 > EXPIRY_MS) return
  isAnnounced = true
  document
    .getElementById('notices')
    ?.append(
      h(
        'p.notice.warning',
        {},
        `Your key ends in ${minutes} minutes. Keep a new one ready:`,
        h('br'),
        h('code', {}, commandFor()),
      ),
    )
}

const signOut = (): void => {
  session.close()
  ending.abort()
  history.replaceState(null, '', location.pathname + location.search)
  signIn()
}
/** Asks for a key, and returns to the same place. */
const signIn = (why = ''): void => {
  ending.abort()
  const problem = h('p.bad', { role: 'alert' }, why)
  const key = h('input', {
    name: 'key',
    type: 'password',
    autocomplete: 'off',
    required: true,
    spellcheck: 'false',
    placeholder: 'pp_…',
  })
  const keep = h('input', { name: 'keep', type: 'checkbox' })
  const enter = (event: Event) => {
    event.preventDefault()
    void open(key.value.trim(), keep.checked).catch((error) => {
      session.close()
      problem.textContent = error instanceof Problem ? error.message : 'The server cannot be reached.'
      key.select()
    })
  }
  const form = h(
    'form',
    { onsubmit: enter },
    h('h1', {}, 'prospect-pages'),
    h('p.muted', {}, 'What arrives, from whom, what is published, and what needs a hand.'),
    h('label', {}, 'API key', key),
    h('label.check', {}, keep, 'Keep it in this tab until I close it'),
    problem,
    h('button.primary', {}, 'Open the console'),
    h(
      'details',
      {},
      h('summary', {}, 'I have no key'),
      h(
        'p',
        {},
        'On the machine of the server, run one of these. The second prints a link that opens the console.',
      ),
      h('pre', {}, 'prospect-pages tenants list\nprospect-pages console --tenant T --write'),
    ),
  )
  app.replaceChildren(h('main.sign-in', {}, form))
  document.title = 'Sign in · prospect-pages'
  key.focus()
}
const open = async (key: string, isKept: boolean): Promise<void> => {
  await session.open(key, isKept)
  isAnnounced = false
  lastPlace = ''
  shell()
  await show()
}

session.onRefused = ({ message }) => {
  session.close()
  signIn(`${message} Sign in again to return to where you were.`)
}
addEventListener('hashchange', () => session.self && show())
addEventListener('keydown', onKey)
addEventListener('unhandledrejection', ({ reason }) => complain(reason))
setInterval(() => document.hidden || refreshTimes(), 1_000)
setInterval(watchExpiry, 20_000)

const first = given ?? session.key
if (first === '') signIn()
else
  void attempt(() =>
    open(first, false).catch((error) => {
      if (!(error instanceof Problem)) throw error
      session.close()
      signIn(error.message)
    }),
  )
