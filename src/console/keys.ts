import { session } from './api.ts'
import { button, closeMenu, facts, h } from './dom.ts'
import { openDialog } from './notices.ts'

const HELP: Readonly<Record<string, string>> = {
  '/': 'find a person, a page, a source or a view',
  'j k': 'next and previous row',
  Enter: 'open a row',
  Esc: 'close it',
  '?': 'this list',
}
/** The letters that open the views after g, in the order of the views. */
const VIEW_KEYS = 'nrapgswe'
/** Maximum time between g and the letter of a view. */
const VIEW_KEY_MS = 1_500

const mainNow = () => document.getElementById('main') as HTMLElement
const viewLinks = () => [...document.querySelectorAll<HTMLElement>('nav a')]

/** When g was pressed; 0 once another key follows. */
let goPressedMs = 0

export const onKey = (event: KeyboardEvent): void => {
  const { key, target } = event
  const isOfBrowser = event.ctrlKey || event.metaKey || event.altKey
  if (session.self === null || isOfBrowser || document.querySelector('dialog[open]')) return
  const isTyping = (target as Element).matches('input, textarea, select')
  if (key === 'Escape' && isTyping) {
    closeMenu()
    // A search field would lose its text.
    event.preventDefault()
    ;(target as HTMLElement).blur()
  } else if (key === 'Escape') {
    closeMenu()
    closeRow()
  } else if (!isTyping && runCommand(key)) event.preventDefault()
}

/** Closes the last row that is open. */
const closeRow = (): void => {
  const opener = [...mainNow().querySelectorAll<HTMLElement>('[aria-expanded=true]')].at(-1)
  opener?.click()
  opener?.focus()
}

/** Returns whether the key is a command. */
const runCommand = (key: string): boolean => {
  const isAfterGo = Date.now() - goPressedMs < VIEW_KEY_MS
  const link = isAfterGo ? viewLinks()[VIEW_KEYS.indexOf(key)] : undefined
  goPressedMs = key === 'g' && !link ? Date.now() : 0
  if (link) link.click()
  else if (key === '/') find()
  else if (key === '?') showHelp()
  else if (key === 'j') focusRow(1)
  else if (key === 'k') focusRow(-1)
  else return false
  return true
}

const FIND = 'Find a person, a page, a source or a view'
/** Opens the search at once, so that nothing typed is lost while the rest of it is loaded, Enter included. */
export const find = (): void => {
  const field = h('input', { placeholder: FIND, 'aria-label': FIND, autocomplete: 'off' })
  const found = h('div')
  const dialog: HTMLDialogElement = h('dialog.finder', { 'aria-label': 'Find' }, field, found)
  openDialog(dialog)
  field.focus()
  const loading = new AbortController()
  let isEntered = false
  const onkeydown = ({ key }: KeyboardEvent): void => {
    if (key === 'Enter') isEntered = true
  }
  field.addEventListener('keydown', onkeydown, { signal: loading.signal })
  const load = async (): Promise<void> => {
    const { finderFor } = await import('./finder.ts')
    loading.abort()
    found.append(finderFor(field, () => dialog.close()))
    if (isEntered) field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }))
  }
  void load()
}

/** Focuses the next or previous row. Without a focused row, both keys focus the first. */
const focusRow = (step: 1 | -1): void => {
  const rows = [...mainNow().querySelectorAll<HTMLElement>('[data-row]')]
  const index = rows.indexOf(document.activeElement as HTMLElement) + step
  rows[Math.max(Math.min(index, rows.length - 1), 0)]?.focus()
}

export const showHelp = (): void => {
  const goKeys = viewLinks().map((link, i) => [`g ${VIEW_KEYS[i]}`, link.querySelector('span')?.textContent])
  const dialog: HTMLDialogElement = h(
    'dialog',
    { 'aria-label': 'Shortcuts' },
    h('h2', 'Shortcuts'),
    facts({ ...HELP, ...Object.fromEntries(goKeys) }),
    button('Close', () => dialog.close()),
  )
  openDialog(dialog)
}
