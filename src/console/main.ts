import { can, Problem, session } from './api.ts'
import {
  actions,
  addressOf,
  bdi,
  button,
  closeMenu,
  h,
  icon,
  type Place,
  refreshTimes,
  type View,
} from './dom.ts'
import { find, onKey, showHelp } from './keys.ts'
import { clearErrors, lacking, openDialog, showError, watchExpiry } from './notices.ts'

/** The key of a link, which is removed from the address before anything else happens. */
const takeLinkKey = (): string | undefined => {
  const key = /^#key=(.*)$/.exec(location.hash)?.[1]
  if (key !== undefined) clearHash()
  return key
}
const clearHash = (): void => history.replaceState(null, '', location.pathname + location.search)

const linkKey = takeLinkKey()

type Entry = { readonly title: string; readonly scope: string; readonly load: () => Promise<{ view: View }> }
const VIEWS: Readonly<Record<string, Entry>> = {
  now: { title: 'Now', scope: 'prospect_logs:read', load: () => import('./now.ts') },
  report: { title: 'Report', scope: 'prospect_logs:read', load: () => import('./report.ts') },
  activity: { title: 'Activity', scope: 'prospect_logs:read', load: () => import('./activity.ts') },
  people: { title: 'People', scope: 'prospects:read', load: () => import('./people.ts') },
  pages: { title: 'Pages', scope: 'page_groups:read', load: () => import('./pages.ts') },
  sources: { title: 'Forms & sources', scope: 'hooks:write', load: () => import('./sources.ts') },
  webhooks: { title: 'CRM & webhooks', scope: 'webhooks:write', load: () => import('./webhooks.ts') },
  events: { title: 'Events', scope: 'events:read', load: () => import('./events.ts') },
}
/** The pause before a retry while the server cannot be reached. */
const RETRY_MS = 3_000
const EXPIRY_MS = 20_000
/** A view that is there sooner needs no outline. */
const OUTLINE_AFTER_MS = 150
const OUTLINE_LINES = 12
const app = document.getElementById('app') as HTMLElement
const main = h('main', { id: 'main', tabindex: -1 })

const placeNow = (): Place => {
  const [path = '', query] = location.hash.replace(/^#\/?/, '').split('?')
  const [view, id, subId] = path
    .split('/')
    .map((part) => new URLSearchParams(`part=${part}`).get('part') ?? '')
  return { view: view || 'now', id, subId, search: new URLSearchParams(query) }
}

let ending = new AbortController()
/** The place of the shown view; empty before the first one. */
let shownPlace = ''

/** Shows the view that the address names. */
const show = async (): Promise<void> => {
  ending.abort()
  ending = new AbortController()
  const { signal } = ending
  const place = placeNow()
  const name = Object.hasOwn(VIEWS, place.view) ? place.view : 'now'
  const { title, scope, load } = VIEWS[name] as Entry
  const focused = document.activeElement?.closest('main') ? document.activeElement : null
  const fieldName = focused?.getAttribute('name') ?? null
  for (const link of document.querySelectorAll<HTMLElement>('nav a'))
    link.ariaCurrent = link.dataset['view'] === name ? 'page' : null
  closeMenu()
  document.title = `${title} · ${session.self?.tenantName ?? 'prospect-pages'}`
  const outline = () => signal.aborted || isShown(place) || main.replaceChildren(outlineOf(title))
  const outlining = setTimeout(outline, OUTLINE_AFTER_MS)
  try {
    const content = can(scope) ? await (await load()).view(place, signal) : lacking(title, scope)
    if (signal.aborted) return
    main.replaceChildren(h('div.view', content))
    placeFocus(place, fieldName)
  } catch (error) {
    if (!signal.aborted) showFailure(error, name, signal)
  } finally {
    clearTimeout(outlining)
  }
}

/** A view that is still being loaded. */
const outlineOf = (title: string) => {
  const line = () => h('p')
  return h(
    'div.outline',
    { role: 'status', 'aria-label': `Loading ${title}` },
    h('header', h('h1', title)),
    h('section.card', Array.from({ length: OUTLINE_LINES }, line)),
  )
}

const nameOf = ({ view, id, subId }: Place): string => [view, id, subId].join()
const isShown = (place: Place): boolean => shownPlace === nameOf(place)

/** A new place begins at its top. The same place again keeps the focus on the field of that name. */
const placeFocus = (place: Place, fieldName: string | null): void => {
  const before = shownPlace
  shownPlace = nameOf(place)
  if (before !== '' && before !== shownPlace) {
    clearErrors()
    scrollTo(0, 0)
    main.focus({ preventScroll: true })
  } else if (fieldName) main.querySelector<HTMLElement>(`[name="${fieldName}"]`)?.focus()
}

/** Shows why a view could not be loaded, and retries if the server cannot be reached. */
const showFailure = (error: unknown, name: string, signal: AbortSignal): void => {
  const { title } = VIEWS[name] as Entry
  const problem = error instanceof Problem ? error : null
  const isGone = problem?.status === 404 || problem?.status === 410
  const next = isGone
    ? h('a.button', { href: addressOf([name]) }, `Back to ${title}`)
    : button('Try again', show)
  const why = problem?.message ?? 'The server cannot be reached. Trying again.'
  main.replaceChildren(h('div.view', h('header', h('h1', title)), h('p', why), next))
  const retry = () => signal.aborted || show()
  if (problem === null) setTimeout(retry, RETRY_MS)
}

/** Puts the frame around the views on the page: the menu, the tenant and the key. */
const showShell = (): void => {
  const skip = (event: Event): void => {
    event.preventDefault()
    main.focus()
  }
  const toggle = () => {
    menu.ariaExpanded = String(document.body.classList.toggle('menu-open'))
  }
  const menu: HTMLElement = button([icon('menu'), h('span', 'Menu')], toggle, {
    class: 'menu',
    'aria-expanded': 'false',
  })
  const links = Object.entries(VIEWS).map(([view, { title, scope }]) => {
    const why = can(scope) ? {} : { class: 'lacking', title: `Your key lacks the scope ${scope}` }
    return h('a', { href: addressOf([view]), 'data-view': view, ...why }, icon(view), h('span', title))
  })
  const rail = h(
    'div.rail',
    h('div.brand', h('b', bdi(session.self?.tenantName)), h('small', 'prospect-pages')),
    button([icon('find'), h('span', 'Find'), h('kbd', { 'aria-hidden': 'true' }, '/')], find, {
      class: 'find',
    }),
    menu,
    h('nav', { 'aria-label': 'Views' }, links),
    keyBox(),
  )
  app.replaceChildren(
    h('a.skip', { href: '#main', onclick: skip }, 'Skip to the content'),
    rail,
    main,
    h('div.unseen', { id: 'arrivals', role: 'status' }),
  )
}

const keyBox = () => {
  const { self } = session
  const isReader = self?.scopes.every((scope) => scope.endsWith(':read'))
  const name = bdi(`Key “${self?.name ?? 'without a name'}”`)
  const showKey = async () => (await import('./key-scopes.ts')).showKey()
  return h(
    'div.key',
    h(
      'p',
      button(name, showKey, { class: 'link', title: 'What this key may do' }),
      isReader && ', read only',
      h('span', { id: 'expires' }),
    ),
    h(
      'div',
      button('Sign out', signOut, { class: 'link' }),
      button('Shortcuts', showHelp, { class: 'link' }),
    ),
  )
}

const signOut = (): void => {
  session.close()
  ending.abort()
  clearHash()
  void signIn()
}

/** Asks for a key, and returns to the same place. */
const signIn = async (why = ''): Promise<void> => {
  ending.abort()
  main.replaceChildren()
  const { signInForm } = await import('./sign-in.ts')
  app.replaceChildren(signInForm(why, open))
  document.title = 'Sign in · prospect-pages'
  app.querySelector('input')?.focus()
}

const open = async (key: string, isKept: boolean): Promise<void> => {
  await session.open(key, isKept)
  shownPlace = ''
  showShell()
  await show()
  watchExpiry()
}

/** Asks for a key in a dialog above the open one, whose typed input stays. */
const signInAbove = async (why: string): Promise<void> => {
  const { signInForm } = await import('./sign-in.ts')
  const form = signInForm(why, async (key, isKept) => {
    await session.open(key, isKept)
    showShell()
    dialog.close()
    void show()
    watchExpiry()
  })
  const onclose = () => session.self === null && signIn(why)
  const dialog = h('dialog', { 'aria-label': 'Sign in', onclose }, form)
  openDialog(dialog)
}

session.setRefusalListener(({ message }) => {
  session.close()
  const why = `${message} Sign in again to return to where you were.`
  const hasDialog = document.querySelector('dialog[open]') !== null
  void (hasDialog ? signInAbove(why) : signIn(why))
})
addEventListener('hashchange', () => {
  const key = takeLinkKey()
  if (key) void enterByLink(key)
  else if (session.self) void show()
})
addEventListener('keydown', onKey)
addEventListener('unhandledrejection', (event) => {
  event.preventDefault()
  showError(event.reason)
})
setInterval(() => document.hidden || refreshTimes(), 1_000)
setInterval(watchExpiry, EXPIRY_MS)

/** Opens the console with a key that was not typed: that of a link, or the one kept in this tab. */
const enter = async (key: string): Promise<void> => {
  if (session.self === null) app.replaceChildren(h('div.rail'), h('main', outlineOf('')))
  try {
    // Kept, because the reader of a link never saw its key, so a reload could not ask for it.
    await open(key, true)
  } catch (error) {
    if (error instanceof Problem && error.status === 401) {
      session.close()
      return signIn(error.message)
    }
    // The server may be back in a moment, so the key stays.
    const message = h('p', `${(error as Error).message} Trying again.`)
    app.replaceChildren(h('main.sign-in', h('h1', 'prospect-pages'), message))
    setTimeout(enter, RETRY_MS, key)
  }
}

/** Opens the console with the key of a link. Asks first if that would end a session with another key. */
const enterByLink = async (key: string): Promise<void> => {
  const { key: usedKey } = session
  if (!usedKey || usedKey === key) return enter(key)
  ending.abort()
  app.replaceChildren(
    h(
      'main.sign-in',
      h('h1', 'prospect-pages'),
      h('p', 'This link contains another key than the one this tab uses. It may belong to another tenant.'),
      actions(
        button('Keep the key of this tab', () => enter(usedKey)),
        button('Use the key of the link', () => enter(key), { class: 'primary' }),
      ),
    ),
  )
  document.title = 'Another key · prospect-pages'
  app.querySelector('button')?.focus()
}

if (linkKey) void enterByLink(linkKey)
else if (session.key) void enter(session.key)
else void signIn()
