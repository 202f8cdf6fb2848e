import { session } from './api.ts'
import { type Attributes, actions, button, type Child, counted, h } from './dom.ts'
import { saveFile } from './lists.ts'
import { errorOf, showError } from './notices.ts'

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
  readonly run: (values: Values) => Promise<Child | undefined> | Promise<void>
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
    if (!before?.isConnected) (alike ?? main)?.focus({ preventScroll: true })
  })
  document.body.append(dialog)
  dialog.showModal()
}
/** A form in a dialog. Esc closes it and returns the focus. */
export const ask = ({ title, body, action, isDanger = false, done = title, run }: DialogOptions): void => {
  const problem = h('div.bad', { role: 'alert' })
  const submit = h('button', { class: isDanger ? 'danger' : 'primary' }, action)
  const cancel = button('Cancel', () => dialog.close())
  const content = h('div.fields', ...body)
  const heading = h('h2', { id: 'dialog-title' }, title)
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    submit.disabled = true
    problem.replaceChildren()
    try {
      const answer = await run(valuesIn(form))
      if (answer === undefined) return dialog.close()
      heading.textContent = done
      content.replaceChildren(h('div', answer))
      submit.remove()
      cancel.textContent = 'Close'
      // A secret is shown only once: even to those who closed the dialog while they waited for it.
      if (!dialog.open) openDialog(dialog)
      cancel.focus()
    } catch (error) {
      if (!dialog.open) return showError(error)
      problem.append(h('div', errorOf(error)))
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
    actions(cancel, submit),
  )
  const dialog: HTMLDialogElement = h('dialog', { 'aria-labelledby': 'dialog-title' }, form)
  openDialog(dialog)
  form.querySelector<HTMLElement>('input, select, textarea')?.focus()
}
/** Asks before something is deleted for good. */
export const askToDelete = (name: string, text: string, run: DialogOptions['run']): void =>
  ask({ title: `Delete ${name}`, action: 'Delete', isDanger: true, body: [h('p', text)], run })

const labeled = (label: Child, control: HTMLElement, hint?: Child) =>
  h('label', label, control, hint && h('small', hint))
/** A labeled field with a hint. */
export const field = (label: string, name: string, options: Attributes = {}, hint?: Child) =>
  labeled(label, h('input', { name, autocomplete: 'off', ...options }), hint)
export const area = (label: string, name: string, options: Attributes = {}, hint?: Child) =>
  labeled(label, h('textarea', { name, rows: 4, spellcheck: 'false', ...options }), hint)
export const choice = (
  label: string,
  name: string,
  options: Readonly<Record<string, string>>,
  more: Attributes = {},
) => {
  const each = Object.entries(options).map(([value, text]) => h('option', { value }, text))
  return labeled(label, h('select', { name, ...more }, each))
}
export const tick = (name: string, label: Child, options: Attributes = {}) =>
  h('label.check', h('input', { type: 'checkbox', name, ...options }), label)
/** The lines of a text area. */
export const linesOf = (text = ''): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
/** For how long what is replaced stays valid. */
export const hoursField = (label: string) =>
  field(label, 'overlapHours', { type: 'number', min: 0, max: 168, value: 24, required: true })
/** A time in the reader's zone, as in `CET`. */
export const timeField = (label: string, name: string, options: Attributes = {}, hint = '') => {
  const parts = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' }).formatToParts()
  const zone = parts.find(({ type }) => type === 'timeZoneName')?.value
  return field(label, name, { type: 'datetime-local', ...options }, `${hint}Your time zone (${zone}).`)
}
/** What such a field says, as the API takes it. */
export const isoOf = (time: string | undefined): string | undefined =>
  time ? new Date(time).toISOString() : undefined

/** Asks for a key, and returns to the same place. */
export const signInForm = (why: string, open: (key: string, isKept: boolean) => Promise<void>) => {
  const problem = h('p.bad', { role: 'alert' }, why)
  const key = field('API key', 'key', { type: 'password', required: true, placeholder: 'pp_…' })
  const enter = (event: Event) => {
    event.preventDefault()
    const values = valuesIn(form)
    void open(values['key']?.trim() ?? '', values['keep'] === 'on').catch((error) => {
      session.close()
      problem.textContent = (error as Error).message
      key.querySelector('input')?.select()
    })
  }
  const form: HTMLFormElement = h(
    'form',
    { onsubmit: enter },
    h('h1', 'prospect-pages'),
    h('p.muted', 'See what arrives, from whom, what is published, and what needs attention.'),
    key,
    tick('keep', 'Keep the key in this tab until I close it'),
    problem,
    h('button.primary', 'Open the console'),
    h(
      'details',
      h('summary', 'I have no key'),
      h('p', 'Run these on the server. The second prints a link that opens the console.'),
      h('pre', 'prospect-pages tenants list\nprospect-pages console --tenant T --write'),
    ),
  )
  return h('main.sign-in', form)
}

type Cell = string | null | undefined
type CsvSlice = { readonly rows: readonly (readonly Cell[])[]; readonly nextCursor: string | undefined }

/** A cell that no spreadsheet takes for a formula, even if it divides cells by semicolons. */
const cellOf = (text: Cell): string => {
  const safe = /^[=+\-@\t\r\n＝＋－＠]/.test(text ?? '') ? `'${text}` : (text ?? '')
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
const lineOf = (cells: readonly Cell[]): string => `${cells.map(cellOf).join(',')}\r\n`

/** Saves a list as a file for spreadsheets: slice by slice, until it is whole or cancelled. */
export const saveAsCsv = async (
  name: string,
  heads: readonly string[],
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<CsvSlice>,
): Promise<void> => {
  const ending = new AbortController()
  const progress = h('p', { role: 'status' }, 'Reading…')
  const dialog: HTMLDialogElement = h(
    'dialog',
    { 'aria-label': 'Save as CSV', onclose: () => ending.abort() },
    h('h2', 'Save as CSV'),
    progress,
    actions(button('Cancel', () => dialog.close())),
  )
  openDialog(dialog)
  // The mark at the beginning: spreadsheets then read UTF-8.
  const parts = ['\ufeff', lineOf(heads)]
  let [count, cursor]: [number, string | undefined] = [0, undefined]
  try {
    do {
      const { rows, nextCursor } = await read(cursor, ending.signal)
      if (!dialog.open) return
      parts.push(...rows.map(lineOf))
      count += rows.length
      cursor = nextCursor
      progress.textContent = `${counted(count, 'row')} so far…`
    } while (cursor)
    saveFile(`${name} ${new Date().toISOString().slice(0, 10)}.csv`, new Blob(parts, { type: 'text/csv' }))
  } catch (error) {
    if (dialog.open) showError(error)
  }
  dialog.close()
}
