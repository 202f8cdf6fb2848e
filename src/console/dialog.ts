import { type Attributes, actions, button, type Child, h, zoneAt } from './dom.ts'
import { errorOf, openDialog, showError } from './notices.ts'

/** The values of a form's fields by name. */
export type Values = Readonly<Record<string, string>>
type FormOptions = {
  readonly title: string
  readonly body: readonly Child[]
  /** The text of the button that sends the form. */
  readonly action: Child
  readonly isDanger?: boolean
  /** Only the button sends the form: Enter in a field does not. */
  readonly needsButton?: boolean
  /** The title of the result, if `run` returns one. */
  readonly done?: string
  /** Returns the result to show, or undefined to close the dialog. If it fails, typed input stays. */
  readonly run: (values: Values) => Promise<Child | undefined> | Promise<void>
}

/** A refusal that the reader can overcome: a button that says `action` does `run`, which ends the form as if it were sent. */
export class Choice extends Error {
  readonly action: string
  readonly run: () => Promise<void>
  constructor(message: string, action: string, run: () => Promise<void>) {
    super(message)
    this.action = action
    this.run = run
  }
}

/** The values of a form. Several ticked values of one name are separated by spaces. */
export const valuesIn = (form: HTMLFormElement): Values => {
  const data = new FormData(form)
  return Object.fromEntries([...new Set(data.keys())].map((name) => [name, data.getAll(name).join(' ')]))
}

/** Opens a form in a dialog. */
export const openForm = (options: FormOptions): void => {
  const { title, body, action, isDanger = false, needsButton = false, done = title, run } = options
  const problem = h('div.bad', { role: 'alert' })
  const submit = h('button', { class: isDanger ? 'danger' : 'primary' }, action)
  const cancel = button('Cancel', () => dialog.close())
  const content = h('div.fields', ...body)
  const heading = h('h2', { id: 'dialog-title' }, title)
  const send = (event: Event): Promise<void> => {
    event.preventDefault()
    return attempt(() => run(valuesIn(form)))
  }
  const attempt = async (run: () => ReturnType<FormOptions['run']>): Promise<void> => {
    submit.disabled = true
    problem.replaceChildren()
    try {
      const result = await run()
      if (result === undefined) return dialog.close()
      heading.textContent = done
      content.replaceChildren(h('div', result))
      submit.remove()
      cancel.textContent = 'Close'
      // The result may contain a secret that is shown only once, so a dialog closed in the meantime opens again.
      if (!dialog.open) openDialog(dialog)
      cancel.focus()
    } catch (error) {
      if (!dialog.open) return showError(error)
      const wayOn = error instanceof Choice && button(error.action, () => attempt(error.run))
      problem.append(h('div', errorOf(error), ' ', wayOn))
      problem.scrollIntoView()
    } finally {
      submit.disabled = false
    }
  }
  const form: HTMLFormElement = h(
    'form',
    { onsubmit: send, onkeydown: needsButton && keepEnter },
    heading,
    content,
    problem,
    actions(cancel, submit),
  )
  const dialog: HTMLDialogElement = h('dialog', { 'aria-labelledby': 'dialog-title' }, form)
  openDialog(dialog)
  form.querySelector<HTMLElement>(':is(input, select, textarea):enabled')?.focus()
}

/** Keeps Enter in a field of one line, or on a choice, from sending the form. */
const keepEnter = (event: Event): void => {
  const { key, target } = event as KeyboardEvent
  if (key === 'Enter' && target instanceof HTMLInputElement) event.preventDefault()
}

/** Asks for a confirmation before something is deleted. */
export const askToDelete = (name: string, text: string, run: FormOptions['run']): void =>
  openForm({ title: `Delete ${name}`, action: 'Delete', isDanger: true, body: [h('p', text)], run })

const labeled = (label: Child, control: HTMLElement, hint?: Child) =>
  h('label', label, control, hint && h('small', hint))

/** A field of one line, with a label and a hint. */
export const field = (label: string, name: string, options: Attributes = {}, hint?: Child) =>
  labeled(label, h('input', { name, autocomplete: 'off', ...options }), hint)

/** A field of several lines. */
export const area = (label: string, name: string, options: Attributes = {}, hint?: Child) =>
  labeled(label, h('textarea', { name, rows: 4, spellcheck: 'false', ...options }), hint)

/** A choice among texts by value. */
export const choice = (
  label: string,
  name: string,
  texts: Readonly<Record<string, string>>,
  more: Attributes = {},
) => {
  const options = Object.entries(texts).map(([value, text]) => h('option', { value }, text))
  return labeled(label, h('select', { name, ...more }, options))
}

/** A checkbox. */
export const tick = (name: string, label: Child, options: Attributes = {}) =>
  h('label.check', h('input', { type: 'checkbox', name, ...options }), label)

/** The lines of a text, trimmed, without blank ones. */
export const linesOf = (text = ''): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

/** Hours for which the old value stays valid. */
export const hoursField = (label: string) =>
  field(label, 'overlapHours', { type: 'number', min: 0, max: 168, value: 24, required: true })

/** A field for a time in the reader's time zone, which its hint names. */
export const timeField = (label: string, name: string, options: Attributes = {}, hint = '') => {
  const zone = zoneAt(new Date().toISOString())
  return field(label, name, { type: 'datetime-local', ...options }, `${hint}Your time zone (${zone}).`)
}

/** The value of a time field as the API expects it. */
export const isoOf = (time: string | undefined): string | undefined =>
  time ? new Date(time).toISOString() : undefined
