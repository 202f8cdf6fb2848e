import { blankOf, textOf, type Value, valueIn, withMember } from './content.ts'
import { area, linesOf } from './dialog.ts'
import { type Attributes, bdi, button, type Child, h } from './dom.ts'
import { segments } from './lists.ts'
import { pretty } from './notices.ts'

/** Characters in a line of a field, about. */
const LINE_LENGTH = 80
const ROWS_MAX = 12
/** A content with more fields than this is edited only as JSON. */
const FIELDS_MAX = 300
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/**
 * A field for a JSON object, with two tabs: a field for each value, or the JSON itself, with its faults while it is typed.
 * Untouched values stay unchanged: their order, and numbers to their last digit. `note`: where the fields come from.
 */
export const contentField = (value: string, note?: Child) => {
  const verdict = h('small', { role: 'status' })
  const check = (): void => {
    const fault = jsonFault(input.value)
    verdict.textContent = fault ?? 'A JSON object, or empty for none.'
    verdict.className = fault ? 'bad' : ''
  }
  const text = area('Content as JSON', 'content', { value, oninput: check, rows: 10 }, verdict)
  const input = text.querySelector('textarea') as HTMLTextAreaElement
  const form = h('div.fields')
  const write = (json: string): void => {
    input.value = pretty(json)
  }
  const show = (tab: string): void => {
    const isForm = tab === 'form' && jsonFault(input.value) === null
    // Hidden fields would be checked when the form is sent.
    form.replaceChildren()
    if (isForm) showFields(form, input.value.trim() || '{}', write)
    form.hidden = !isForm
    adder.hidden = !isForm
    text.hidden = isForm
    check()
  }
  const adder = fieldAdder((name) => {
    write(withMember(input.value.trim() || '{}', name))
    show('form')
    focusOn(form, name)
  })
  const tabs = segments('How the content is edited', { form: 'Fields', json: 'JSON' }, 'form', show)
  show('form')
  return h('div.fields', h('div', h('b', 'Content '), tabs, note && h('small', note)), form, adder, text)
}

/** Asks for the name of a field for a text. */
const fieldAdder = (add: (name: string) => void) => {
  const name = h('input', { autocomplete: 'off' })
  const addNamed = (): void => {
    const typed = name.value.trim()
    name.value = ''
    if (typed === '') name.focus()
    else add(typed)
  }
  name.addEventListener('keydown', ({ key }) => key === 'Enter' && addNamed())
  return h(
    'details',
    h('summary', 'Add a field'),
    h('div.field-adder', h('label', 'Name of the field', name), button('Add', addNamed)),
    h('small', 'It takes a text. Your programs must know the name to show it.'),
  )
}

/** Moves the focus to the field with this path, or to the first inside. */
const focusOn = (form: HTMLElement, path: string): void => {
  const controls = [...form.querySelectorAll<HTMLElement>('[data-path]')]
  controls.find(({ dataset }) => `${dataset['path']} › `.startsWith(`${path} › `))?.focus()
}

/** Shows a field for each value in a JSON object. `write` gets the JSON whenever it is edited. */
const showFields = (form: HTMLElement, json: string, write: (json: string) => void): void => {
  const root = valueIn(json)
  /** The new texts of values that were edited. */
  const edits = new Map<Value, string>()
  const edited = (value: Value): string => edits.get(value) ?? withEditsInside(value)
  const withEditsInside = ({ begin, json: before, children }: Value): string => {
    let end = begin
    const texts = children
      .toSorted((a, b) => a.begin - b.begin)
      .map((child) => {
        const between = json.slice(end, child.begin)
        end = child.begin + child.json.length
        return between + edited(child)
      })
    return texts.join('') + json.slice(end, begin + before.length)
  }
  const edit = (value: Value, text: string): void => {
    edits.set(value, text)
    write(edited(root))
  }
  /** Shows the fields again with other items in a list, and moves the focus to what has this path. */
  const setItems = (list: Value, items: readonly string[], focused: string): void => {
    edit(list, `[${items}]`)
    showFields(form, edited(root), write)
    focusOn(form, focused)
  }

  const fieldsIn = (value: Value): readonly Node[] => {
    if (value.kind === 'object') return value.children.flatMap(fieldsIn)
    if (value.kind === 'list') return itemsOf(value)
    return [fieldOf(value, (text) => edit(value, text))]
  }
  const itemsOf = (list: Value): readonly Node[] => {
    const { path, children } = list
    const [first] = children
    const others = (removed: Value) => children.filter((item) => item !== removed).map(edited)
    const remove = (item: Value) =>
      button(['Remove ', bdi(item.path)], () => setItems(list, others(item), path), { class: 'link' })
    const add = (): void => {
      const items = [...children.map(edited), first ? blankOf(first) : '{}']
      setItems(list, items, `${path} › ${items.length}`)
    }
    return [
      ...children.flatMap((item) => [...fieldsIn(item), ...(children.length > 1 ? [remove(item)] : [])]),
      button(['Add to ', bdi(path)], add, { class: 'link', 'data-path': path }),
    ]
  }
  const fields = root.kind === 'object' ? fieldsIn(root) : []
  const isForm = fields.length > 0 && fields.length <= FIELDS_MAX
  const why =
    fields.length === 0
      ? 'This content has no fields yet. Add one, or edit the JSON.'
      : 'This content has too many fields. Edit it under JSON.'
  form.replaceChildren(...(isForm ? fields : [h('p.muted', why)]))
}

/** A field for a value. `write` gets its JSON whenever it is edited. */
const fieldOf = (value: Value, write: (json: string) => void): HTMLElement => {
  const { kind, path, json, children } = value
  const label = bdi(path)
  const text = textOf(value)
  const options = { value: text, autocomplete: 'off', 'data-path': path }
  const typedIn = ({ target }: Event) => (target as HTMLTextAreaElement).value
  if (kind === 'other')
    return h(
      'p.muted',
      label,
      text === '' ? ' is empty' : ' is nested too deep for a form',
      '. Edit it under JSON.',
    )
  if (kind === 'flag') {
    const onchange = ({ target }: Event) => write(String((target as HTMLInputElement).checked))
    const tick = h('input', { type: 'checkbox', checked: json === 'true', onchange, 'data-path': path })
    return h('label.check', tick, label)
  }
  if (kind === 'lines') {
    const isNumber = children[0]?.kind === 'number'
    const oninput = (event: Event): void => {
      const lines = linesOf(typedIn(event))
      if (isNumber && !areNumbers(event, lines)) return
      write(`[${isNumber ? lines : lines.map((line) => JSON.stringify(line))}]`)
    }
    return h('label', label, growingArea(options, oninput), h('small', 'One per line.'))
  }
  if (kind === 'number') {
    const oninput = (event: Event): void => {
      if (areNumbers(event, [typedIn(event)])) write(typedIn(event))
    }
    return h('label', label, h('input', { ...options, inputmode: 'decimal', oninput }))
  }
  const oninput = (event: Event): void => {
    const typed = typedIn(event)
    write(kind === 'nothing' && typed === '' ? 'null' : JSON.stringify(typed))
  }
  return h('label', label, growingArea(options, oninput))
}

/** A field with as many lines as its text needs, up to a maximum. Where the style sheet cannot do that, `rows` does. */
const growingArea = (options: Attributes & { readonly value: string }, oninput: (event: Event) => void) => {
  const grow = (event: Event): void => {
    area.rows = rowsOf(area.value)
    oninput(event)
  }
  const area = h('textarea', { ...options, class: 'growing', rows: rowsOf(options.value), oninput: grow })
  return area
}

const rowsOf = (text: string): number => {
  const rows = text.split('\n').map((line) => Math.ceil(line.length / LINE_LENGTH) || 1)
  return Math.min(
    rows.reduce((sum, count) => sum + count),
    ROWS_MAX,
  )
}

const areNumbers = ({ target }: Event, texts: readonly string[]): boolean => {
  const areValid = texts.every((text) => NUMBER.test(text))
  ;(target as HTMLInputElement).setCustomValidity(areValid ? '' : 'Write a number such as 14.90.')
  return areValid
}

const jsonFault = (text: string): string | null => {
  if (text.trim() === '') return null
  try {
    const value = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? null : 'The content must be a JSON object: { … }.'
  } catch (error) {
    return `Not JSON yet: ${(error as Error).message}.`
  }
}

/** The content exactly as typed. */
export const typedContent = (text = ''): string => {
  if (jsonFault(text) !== null) throw new Error('Correct the content first.')
  return text.trim() || 'null'
}
