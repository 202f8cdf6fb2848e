import { can, Problem, session } from './api.ts'
import { addressOf, bdi, button, closeMenu, h, icon, type Place, refreshTimes, type View } from './dom.ts'
import { help, onKey } from './lists.ts'
import { clearErrors, lacking, showError, watchExpiry } from './notices.ts'

const placeNow = (): Place => {
  const [path = '', query] = location.hash.replace(/^#\/?/, '').split('?')
  const [view, id, subId] = path
    .split('/')
    .map((part) => new URLSearchParams(`part=${part}`).get('part') ?? '')
  return { view: view || 'now', id, subId, search: new URLSearchParams(query) }
}

/** The key of a link. It leaves the address before anything else. */
const keyOfLink = (): string | undefined => {
  const linkKey = /^#key=(.*)$/.exec(location.hash)?.[1]
  if (linkKey !== undefined) history.replaceState(null, '', location.pathname + location.search)
  return linkKey
}
const linkKey = keyOfLink()

type Entry = { readonly title: string; readonly scope: string; readonly load: () => Promise<{ view: View }> }
const VIEWS: Readonly<Record<string, Entry>> = {
  now: { title: 'Now', scope: 'prospect_logs:read', load: () => import('./now.ts') },
  activity: { title: 'Activity', scope: 'prospect_logs:read', load: () => import('./activity.ts') },
  people: { title: 'People', scope: 'prospects:read', load: () => import('./people.ts') },
  pages: { title: 'Pages', scope: 'page_groups:read', load: () => import('./pages.ts') },
  sources: { title: 'Sources', scope: 'hooks:write', load: () => import('./sources.ts') },
  webhooks: { title: 'Webhooks', scope: 'webhooks:write', load: () => import('./webhooks.ts') },
  events: { title: 'Events', scope: 'events:read', load: () => import('./events.ts') },
}
const AWAY_MS = 3_000
const EXPIRY_MS = 20_000
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
  const name = Object.hasOwn(VIEWS, place.view) ? place.view : 'now'
  const { title, scope, load } = VIEWS[name] as Entry
  const focused = document.activeElement?.closest('main') ? document.activeElement.getAttribute('name') : null
  for (const link of document.querySelectorAll<HTMLElement>('nav a'))
    link.ariaCurrent = link.dataset['view'] === name ? 'page' : null
  closeMenu()
  document.title = `${title} · ${session.self?.tenantName ?? 'prospect-pages'}`
  try {
    const content = can(scope) ? await (await load()).view(place, signal) : lacking(title, scope)
    if (signal.aborted) return
    main.replaceChildren(h('div.view', content))
    const moved = [place.view, place.id, place.subId].join()
    const shown = lastPlace
    lastPlace = moved
    if (shown !== '' && shown !== moved) {
      clearErrors()
      scrollTo(0, 0)
      main.focus({ preventScroll: true })
    } else if (focused) main.querySelector<HTMLElement>(`[name="${focused}"]`)?.focus()
  } catch (error) {
    if (signal.aborted) return
    const status = error instanceof Problem ? error.status : 0
    const why = status ? (error as Problem).message : 'The server cannot be reached. Trying again.'
    const next = [404, 410].includes(status)
      ? h('a.button', { href: addressOf([name]) }, `Back to ${title}`)
      : button('Try again', show)
    main.replaceChildren(h('div.view', h('header', h('h1', title)), h('p', why), next))
    if (!status) setTimeout(() => signal.aborted || show(), AWAY_MS)
  }
}
const skip = (event: Event): void => {
  event.preventDefault()
  main.focus()
}
const shell = (): void => {
  const { self } = session
  const links = Object.entries(VIEWS).map(([view, { title, scope }]) => {
    const why = can(scope) ? {} : { class: 'lacking', title: `Your key lacks the scope ${scope}` }
    return h('a', { href: addressOf([view]), 'data-view': view, ...why }, icon(view), h('span', title))
  })
  const isReader = self?.scopes.every((scope) => scope.endsWith(':read'))
  const toggle = () => {
    menu.ariaExpanded = String(document.body.classList.toggle('menu-open'))
  }
  const menu: HTMLElement = button([icon('menu'), h('span', 'Menu')], toggle, {
    class: 'menu',
    'aria-expanded': 'false',
  })
  const rail = h(
    'div.rail',
    h('div.brand', h('b', bdi(self?.tenantName)), h('small', 'prospect-pages')),
    menu,
    h('nav', { 'aria-label': 'Views' }, links),
    h(
      'div.key',
      h(
        'p',
        bdi(`Key “${self?.name ?? 'without a name'}”`),
        isReader && ', read only',
        h('span', { id: 'expires' }),
      ),
      h('div', button('Sign out', signOut, { class: 'link' }), button('Shortcuts', help, { class: 'link' })),
    ),
  )
  app.replaceChildren(
    h('a.skip', { href: '#main', onclick: skip }, 'Skip to the content'),
    rail,
    main,
    h('div.unseen', { id: 'arrivals', role: 'status' }),
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
  main.replaceChildren()
  const { signInForm } = await import('./dialog.ts')
  app.replaceChildren(signInForm(why, open))
  document.title = 'Sign in · prospect-pages'
  app.querySelector('input')?.focus()
}
const open = async (key: string, isKept: boolean): Promise<void> => {
  await session.open(key, isKept)
  lastPlace = ''
  shell()
  await show()
  watchExpiry()
}

session.onRefused = async ({ message }) => {
  session.close()
  const why = `${message} Sign in again to return to where you were.`
  if (document.querySelector('dialog[open]') === null) return signIn(why)
  // Typed input in the open dialog stays.
  const { openDialog, signInForm } = await import('./dialog.ts')
  const form = signInForm(why, async (key, isKept) => {
    await session.open(key, isKept)
    shell()
    dialog.close()
    void show()
    watchExpiry()
  })
  const onclose = () => session.self === null && signIn(why)
  const dialog = h('dialog', { 'aria-label': 'Sign in', onclose }, form)
  openDialog(dialog)
}
addEventListener('hashchange', () => {
  const pasted = keyOfLink()
  if (pasted) void enter(pasted)
  else if (session.self) void show()
})
addEventListener('keydown', onKey)
addEventListener('unhandledrejection', (event) => {
  event.preventDefault()
  showError(event.reason)
})
setInterval(() => document.hidden || refreshTimes(), 1_000)
setInterval(watchExpiry, EXPIRY_MS)

const enter = async (key: string): Promise<void> => {
  try {
    // The key of a link is one that its reader never saw: a reload would ask for it.
    await open(key, true)
  } catch (error) {
    if (error instanceof Problem && error.status === 401) {
      session.close()
      return signIn(error.message)
    }
    // The key is kept: the server may be back in a moment.
    const message = h('p', `${(error as Error).message} Trying again.`)
    app.replaceChildren(h('main.sign-in', h('h1', 'prospect-pages'), message))
    setTimeout(enter, AWAY_MS, key)
  }
}
if (linkKey || session.key) void enter(linkKey ?? session.key)
else void signIn()
