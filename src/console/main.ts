import { can, Problem, session } from './api.ts'
import { attempt, complain, forgive } from './dialog.ts'
import { button, h, icon, refreshTimes } from './dom.ts'
import { addressOf, placeNow, type View } from './place.ts'

/** The key of a link. It leaves the address before anything else. */
const keyOfLink = (): string | undefined => {
  const given = /^#key=(pp_[0-9A-Za-z]+)/.exec(location.hash)?.[1]
  if (given) history.replaceState(null, '', location.pathname + location.search)
  return given
}
const given = keyOfLink()

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
const AWAY_MS = 3_000
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
    const content = can(scope)
      ? await (await load())(place, signal)
      : (await import('./lacking.ts')).lacking(title, scope)
    if (signal.aborted) return
    main.replaceChildren(h('div.view', {}, content))
    const isMoved = lastPlace !== '' && lastPlace !== [place.view, place.id, place.subId].join()
    if (isMoved) {
      forgive()
      scrollTo(0, 0)
      main.focus({ preventScroll: true })
    } else if (focused) main.querySelector<HTMLElement>(`[name="${focused}"]`)?.focus()
    lastPlace = [place.view, place.id, place.subId].join()
  } catch (error) {
    if (signal.aborted) return
    const isGone = error instanceof Problem && [404, 410].includes(error.status)
    const why = error instanceof Problem ? error.message : 'The server cannot be reached. Trying again.'
    const next = isGone
      ? h('a.button', { href: addressOf([name]) }, `Back to ${title}`)
      : button('Try again', show)
    main.replaceChildren(h('div.view', {}, h('header', {}, h('h1', {}, title)), h('p', {}, why), next))
    if (!(error instanceof Problem)) setTimeout(() => signal.aborted || show(), AWAY_MS)
  }
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
  const toggle = () => {
    const isOpen = document.body.classList.toggle('menu-open')
    menu.setAttribute('aria-expanded', String(isOpen))
  }
  const menu: HTMLElement = button([icon('menu'), h('span', {}, 'Menu')], toggle, {
    class: 'menu',
    'aria-expanded': 'false',
  })
  const keepKey = () => {
    session.keep()
    keep.remove()
  }
  const keep: HTMLElement = button('Keep the key in this tab', keepKey, {
    class: 'link',
    hidden: session.isKept,
  })
  const rail = h(
    'div.rail',
    {},
    h('div.brand', {}, h('b', {}, h('bdi', {}, self?.tenantName)), h('small', {}, 'prospect-pages')),
    menu,
    h('nav', { 'aria-label': 'Views' }, links),
    h(
      'div.key',
      {},
      h('p', {}, h('bdi', {}, `Key “${self?.name ?? 'without a name'}”`), isReader && ', read only', expires),
      h(
        'div',
        {},
        button('Sign out', signOut, { class: 'link' }),
        keep,
        button('Shortcuts', async () => (await import('./keyboard.ts')).help(), { class: 'link' }),
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
        h('code', {}, session.command()),
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
const signIn = async (why = ''): Promise<void> => {
  ending.abort()
  const { signInForm } = await import('./sign-in.ts')
  app.replaceChildren(signInForm(why, open))
  document.title = 'Sign in · prospect-pages'
  app.querySelector('input')?.focus()
}
const open = async (key: string, isKept: boolean): Promise<void> => {
  await session.open(key, isKept)
  isAnnounced = false
  lastPlace = ''
  shell()
  await show()
  // A listener that is added again is still one.
  addEventListener('keydown', (await import('./keyboard.ts')).onKey)
}

session.onRefused = ({ message }) => {
  session.close()
  signIn(`${message} Sign in again to return to where you were.`)
}
addEventListener('hashchange', () => {
  const pasted = keyOfLink()
  if (pasted) enter(pasted)
  else if (session.self) void show()
})
addEventListener('unhandledrejection', ({ reason }) => complain(reason))
setInterval(() => document.hidden || refreshTimes(), 1_000)
setInterval(watchExpiry, 20_000)

const enter = (key: string): void =>
  void attempt(() =>
    open(key, false).catch((error) => {
      if (!(error instanceof Problem)) throw error
      session.close()
      void signIn(error.message)
    }),
  )
if (given || session.key) enter(given ?? session.key)
else void signIn()
