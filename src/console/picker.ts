import { bdi, counted, h, refill } from './dom.ts'

/** Something that was found. `kind`: what it is, in a list of different things. */
export type Found = {
  readonly title: string
  readonly note?: string | null
  readonly kind?: string
  readonly take: () => unknown
}
type Find = (typed: string, signal: AbortSignal) => Promise<readonly Found[]>

/** A search begins once the reader has not typed for this long. */
const TYPING_MS = 120
let pickers = 0

/**
 * Makes a field find while the reader types. Returns the list of what is found: the arrow keys move in it, and Enter or a
 * press takes one. Enter waits for the results of what was typed. `findsWhat` is said if nothing is found.
 */
export const pickerFor = (field: HTMLInputElement, find: Find, findsWhat: string) => {
  const id = `found-${pickers++}`
  const list = h('ul.found', { role: 'listbox', id, 'aria-label': 'Found' })
  const status = h('p.muted', { role: 'status' })
  let found: readonly Found[] = []
  let chosen = 0
  let ending = new AbortController()
  let searching: Promise<void> = Promise.resolve()

  const choose = (index: number): void => {
    chosen = Math.max(Math.min(index, found.length - 1), 0)
    for (const [i, option] of [...list.children].entries()) {
      option.ariaSelected = String(i === chosen)
      if (i === chosen) option.scrollIntoView({ block: 'nearest' })
    }
    if (found.length > 0) field.setAttribute('aria-activedescendant', `${id}-${chosen}`)
    else field.removeAttribute('aria-activedescendant')
  }
  const optionOf = ({ title, note, kind, take }: Found, index: number) =>
    h(
      'li',
      {
        role: 'option',
        id: `${id}-${index}`,
        onclick: take,
        onmousemove: () => index !== chosen && choose(index),
      },
      h('span.who', h('b', bdi(title)), note && h('small', bdi(note))),
      kind && h('small', kind),
    )
  const search = async ({ signal }: AbortController): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, TYPING_MS))
    if (signal.aborted) return
    const typed = field.value.trim()
    const results = await find(typed, signal).catch((error: Error) => error)
    if (signal.aborted) return
    found = results instanceof Error ? [] : results
    refill(list, found.map(optionOf))
    choose(0)
    status.textContent =
      results instanceof Error ? results.message : summaryOf(typed, found.length, findsWhat)
    status.className = found.length > 0 ? 'unseen' : 'muted'
  }
  const restart = (): void => {
    ending.abort()
    ending = new AbortController()
    searching = search(ending)
  }
  const takeChosen = async (): Promise<void> => {
    for (let waited: unknown; waited !== searching; ) {
      waited = searching
      await searching
    }
    if (field.isConnected) found[chosen]?.take()
  }
  const onkeydown = (event: KeyboardEvent): void => {
    const { key, isComposing } = event
    // Enter may end the input of a character, such as a Japanese one.
    if (isComposing) return
    if (key === 'ArrowDown') choose(chosen + 1)
    else if (key === 'ArrowUp') choose(chosen - 1)
    else if (key === 'Enter') void takeChosen()
    else return
    event.preventDefault()
  }
  field.role = 'combobox'
  field.ariaExpanded = 'true'
  field.ariaAutoComplete = 'list'
  field.setAttribute('aria-controls', id)
  field.addEventListener('input', restart)
  field.addEventListener('keydown', onkeydown)
  restart()
  return h('div', list, status)
}

const summaryOf = (typed: string, count: number, findsWhat: string): string => {
  if (typed === '') return ''
  return count === 0 ? `Nothing found. ${findsWhat}` : counted(count, 'result')
}
