import { session } from './api.ts'
import { openDialog } from './dialog.ts'
import { button, closeMenu, h } from './dom.ts'
import { addressOf } from './place.ts'

const mainNow = () => document.getElementById('main') as HTMLElement

/** Keys of the keyboard, and their actions. */
const KEYS: Readonly<Record<string, string>> = {
  '/': 'find a person',
  'j k': 'next and previous row',
  Enter: 'open a row',
  Esc: 'close it',
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
/** To the search for people, from anywhere. */
const find = (): void => {
  const field = mainNow().querySelector<HTMLElement>('input[name=q]')
  if (field) field.focus()
  else location.hash = addressOf(['people'], { find: '1' })
}
let goesMs = 0
export const onKey = (event: KeyboardEvent): void => {
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
  const view = Date.now() - goesMs < 1_500 ? GO[key] : undefined
  goesMs = key === 'g' && view === undefined ? Date.now() : 0
  if (view !== undefined) location.hash = addressOf([view])
  else if (key === '/') find()
  else if (key === '?') help()
  else if (key === 'j' || key === 'k') {
    const at = rows.indexOf(document.activeElement as HTMLElement)
    rows[key === 'j' ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0)]?.focus()
  } else return
  event.preventDefault()
}
export const help = (): void => {
  const list = h(
    'dl.facts',
    {},
    [...Object.entries(KEYS), ...Object.entries(GO).map(([key, view]) => [`g ${key}`, view] as const)].map(
      ([key, text]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, text)],
    ),
  )
  const dialog: HTMLDialogElement = h(
    'dialog',
    { 'aria-label': 'Shortcuts' },
    h('h2', {}, 'Shortcuts'),
    list,
    button('Close', () => dialog.close()),
  )
  openDialog(dialog)
}
