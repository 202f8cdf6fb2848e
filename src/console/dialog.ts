import { can, Problem, session } from './api.ts'
import { type Attributes, button, type Child, h } from './dom.ts'
import { addressOf } from './place.ts'

/** The place of notices: within the open dialog, if there is one, because nothing beside it can be reached. */
const notices = (): HTMLElement => {
  const place = document.getElementById('notices') as HTMLElement
  const parent = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body
  if (place.parentElement !== parent) parent.append(place)
  return place
}
/** Removes earlier errors, which are no longer news. */
export const clearErrors = (): void => {
  for (const notice of notices().querySelectorAll('.bad')) notice.remove()
}

/** Shows a message for a few seconds. */
export const notify = (text: string): void => {
  const notice = h('p.notice', {}, text)
  clearErrors()
  notices().append(notice)
  setTimeout(() => notice.remove(), 5_000)
}
/** An error with all the details that support would ask for. */
const errorOf = (error: unknown): Child => {
  if (!(error instanceof Problem)) return h('span', {}, (error as Error).message)
  const { message, code, requestId, errors, facts } = error
  const fieldOf = (pointer = '') => /[a-z]\w*(?=(\/\d+)?$)/i.exec(pointer)?.[0]
  const details = errors.map(({ detail, pointer, parameter }) =>
    h('li', {}, h('b', {}, fieldOf(pointer) ?? parameter), ` ${detail}`),
  )
  const other = facts['prospectId']
  return [
    details.length > 0 ? h('ul', {}, details) : h('span', {}, message),
    typeof other === 'string' && [' ', h('a', { href: addressOf(['people', other]) }, 'Open that person')],
    h(
      'small',
      {},
      `${code}, request ${requestId} `,
      button('Copy', () => copy(`${code} ${requestId}: ${message}`), { class: 'link' }),
    ),
  ]
}
/** An error that stays until it is dismissed. The same one is shown once. */
export const showError = (error: unknown): void => {
  if ((error as Error)?.name === 'AbortError') return
  const id = error instanceof Problem ? `${error.code} ${error.message}` : String((error as Error)?.message)
  for (const shown of notices().children) if ((shown as HTMLElement).dataset['id'] === id) return
  const notice: HTMLElement = h(
    'div.notice.bad',
    { role: 'alert', 'data-id': id },
    errorOf(error),
    button('Dismiss', () => notice.remove()),
  )
  notices().append(notice)
}
/** Runs the action of a control, and shows an error if it fails. */
export const attempt = async (work: () => Promise<unknown>): Promise<void> => {
  try {
    await work()
  } catch (error) {
    showError(error)
  }
}

/** A button that loads the next slice of a list, one at a time. `follow` sets where it goes on, if it does. */
export const loadMore = (load: (cursor: string) => Promise<string | undefined>, text = 'Load older') => {
  let next: string | undefined
  const run = async (): Promise<void> => {
    element.disabled = true
    await attempt(async () => follow(await load(next ?? '')))
    element.disabled = false
  }
  const follow = (cursor: string | undefined): void => {
    next = cursor
    element.hidden = cursor === undefined
  }
  const element: HTMLButtonElement = button(text, run, { class: 'more', hidden: true })
  return { element, follow }
}

export const copy = (text: string) =>
  attempt(async () => {
    if (navigator.clipboard) await navigator.clipboard.writeText(text)
    else {
      // Pages that come over plain HTTP from another machine have no clipboard.
      const area = h('textarea', { value: text, 'aria-hidden': 'true' })
      const place = document.querySelector('dialog[open]') ?? document.body
      place.append(area)
      area.select()
      document.execCommand('copy')
      area.remove()
    }
    notify('Copied.')
  })
/** An id, short; the whole of it is copied. */
export const idOf = (id: string) => {
  const short = id.length > 24 ? `${id.slice(0, id.indexOf('_') + 5)}…${id.slice(-5)}` : id
  return button(short, () => copy(id), { class: 'id', title: id, 'aria-label': `Copy ${id}` })
}
/** A text to take elsewhere, such as a command or a secret. */
export const toCopy = (name: string, text: string, shown = text) =>
  h(
    'div.copy',
    {},
    h('pre', { tabindex: 0, role: 'group', 'aria-label': name }, shown),
    button('Copy', () => copy(text)),
  )

/** The fields of a form by name. */
type Values = Readonly<Record<string, string>>
type DialogOptions = {
  readonly title: string
  readonly body: readonly Child[]
  readonly action: string
  readonly isDanger?: boolean
  /** The title once it is done and there is something to show. */
  readonly done?: string
  /** Typed input stays if it fails. Returns the content to show instead of closing. */
  readonly run: (values: Values) => Promise<Child | undefined>
}
/** Several ticked values of one name are separated by spaces. */
const valuesIn = (form: HTMLFormElement): Values => {
  const data = new FormData(form)
  return Object.fromEntries([...new Set(data.keys())].map((name) => [name, data.getAll(name).join(' ')]))
}
/** Opens a dialog. Once it is closed the focus is where it was, or on the control now in that place. */
export const openDialog = (dialog: HTMLDialogElement): void => {
  const before = document.activeElement as HTMLElement | null
  dialog.addEventListener('close', () => {
    document.body.append(document.getElementById('notices') as HTMLElement)
    dialog.remove()
    const main = document.getElementById('main')
    const alike = [...(main?.querySelectorAll('button') ?? [])].find(
      ({ textContent }) => textContent === before?.textContent,
    )
    const next = before?.isConnected ? before : (alike ?? main)
    next?.focus({ preventScroll: true })
  })
  document.body.append(dialog)
  dialog.showModal()
}
/** A form in a dialog. Esc closes it and returns the focus. */
export const ask = ({ title, body, action, isDanger = false, done = title, run }: DialogOptions): void => {
  const problem = h('div.bad', { role: 'alert' })
  const submit = h('button', { class: isDanger ? 'danger' : 'primary' }, action)
  const cancel = button('Cancel', () => dialog.close())
  const content = h('div.fields', {}, ...body)
  const heading = h('h2', { id: 'dialog-title' }, title)
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    submit.disabled = true
    problem.replaceChildren()
    try {
      const answer = await run(valuesIn(form))
      if (answer === undefined) return dialog.close()
      heading.textContent = done
      content.replaceChildren(h('div', {}, answer))
      submit.remove()
      cancel.textContent = 'Close'
      // A secret is shown only once: even to those who closed the dialog while they waited for it.
      if (!dialog.open) openDialog(dialog)
      cancel.focus()
    } catch (error) {
      if (!dialog.open) return showError(error)
      problem.append(h('div', {}, errorOf(error)))
      problem.scrollIntoView()
    } finally {
      submit.disabled = false
    }
  }
  const form: HTMLFormElement = h(
    'form',
    { onsubmit: send },
    heading,
    content,
    problem,
    h('div.actions', {}, cancel, submit),
  )
  const dialog: HTMLDialogElement = h('dialog', { 'aria-labelledby': 'dialog-title' }, form)
  openDialog(dialog)
  form.querySelector<HTMLElement>('input, select, textarea')?.focus()
}
/** Asks before something is deleted for good. */
export const askToDelete = (name: string, text: string, run: DialogOptions['run']): void =>
  ask({ title: `Delete ${name}`, action: 'Delete', isDanger: true, body: [h('p', {}, text)], run })
/** A button for an action that needs a scope: grayed out without it, with the reason. */
export const gated = (scope: string, text: string, onclick: () => unknown, attributes: Attributes = {}) => {
  if (can(scope)) return button(text, onclick, attributes)
  const why = `Your key lacks the scope ${scope}. This opens a console that has it: ${session.command()}`
  return button(text, () => notify(why), { ...attributes, 'aria-disabled': 'true', title: why })
}
