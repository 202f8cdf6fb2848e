import { membersOf } from '../json/raw-json.ts'
import { area } from './dialog.ts'
import { bdi, h } from './dom.ts'
import { segments } from './lists.ts'
import { pretty } from './notices.ts'

/** A longer text is edited in several lines. */
const LINE_LENGTH_MAX = 80
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/**
 * A field for a JSON object, with two tabs: one field for each member, or the JSON itself, with its faults while it is
 * typed. Untouched members stay unchanged: their order, and numbers to their last digit.
 */
export const contentField = (value: string) => {
  const verdict = h('small', { role: 'status' })
  const check = (): void => {
    const fault = jsonFault(input.value)
    verdict.textContent = fault ?? 'A JSON object, or empty for none.'
    verdict.className = fault ? 'bad' : ''
  }
  const text = area('Content as JSON', 'content', { value, oninput: check, rows: 10 }, verdict)
  const input = text.querySelector('textarea') as HTMLTextAreaElement
  const form = h('div.fields')
  /** The exact texts of the members, by name. */
  let members = new Map<string, string>()
  const write = (name: string, rawJson: string): void => {
    members.set(name, rawJson)
    const texts = [...members].map(([name, rawJson]) => `${JSON.stringify(name)}:${rawJson}`)
    input.value = pretty(`{${texts}}`)
  }
  const showMembers = (): void => {
    const parsed = [...membersOf(input.value.trim() || '{}').members]
    members = new Map(parsed.map(([name, { rawJson }]) => [name, rawJson]))
    const fields = [...members].map(([name, rawJson]) =>
      memberField(name, rawJson, (edited) => write(name, edited)),
    )
    form.replaceChildren(...fields)
  }
  const show = (tab: string): void => {
    const isForm = tab === 'form' && jsonFault(input.value) === null
    if (isForm) showMembers()
    form.hidden = !isForm
    text.hidden = isForm
    check()
  }
  const tabs = segments('How the content is edited', { form: 'Fields', json: 'JSON' }, 'form', show)
  show('form')
  return h('div.fields', h('div', h('b', 'Content '), tabs), form, text)
}

/** A field for a member: a checkbox, a number or a text. Other members can only be edited as JSON. */
const memberField = (name: string, rawJson: string, write: (rawJson: string) => void): HTMLElement => {
  const label = bdi(name)
  if (rawJson === 'true' || rawJson === 'false') {
    const onchange = ({ target }: Event) => write(String((target as HTMLInputElement).checked))
    return h('label.check', h('input', { type: 'checkbox', checked: rawJson === 'true', onchange }), label)
  }
  if (rawJson.startsWith('"')) {
    const value: string = JSON.parse(rawJson)
    const oninput = ({ target }: Event) => write(JSON.stringify((target as HTMLInputElement).value))
    const isLong = name === 'text' || value.length > LINE_LENGTH_MAX || value.includes('\n')
    return h('label', label, h(isLong ? 'textarea' : 'input', { value, oninput, autocomplete: 'off' }))
  }
  if (!NUMBER.test(rawJson))
    return h('label', label, h('textarea', { value: rawJson, disabled: true, autocomplete: 'off' }))
  const oninput = ({ target }: Event): void => {
    const field = target as HTMLInputElement
    const isNumber = NUMBER.test(field.value)
    field.setCustomValidity(isNumber ? '' : 'This is not a number.')
    if (isNumber) write(field.value)
  }
  return h('label', label, h('input', { value: rawJson, oninput, autocomplete: 'off' }))
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
