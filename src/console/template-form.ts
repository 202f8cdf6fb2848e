import { parseTemplate, render } from '../json/template.ts'
import { bdi, button, h, refill } from './dom.ts'
import { fieldsIn } from './fields.ts'
import type { NewestEvent } from './newest-event.ts'
import { memberOf } from './raw.ts'

/** What a receiver's field can be filled with, by the place in a template. A place with `?` may lead to nothing. */
const PLACES: Readonly<Record<string, string>> = {
  '/data/prospect/email': 'Email',
  '/data/prospect/name?': 'Name',
  '/data/prospect/firstName?': 'First name',
  '/data/prospect/lastName?': 'Last name',
  '/data/prospect/externalId?': 'External ID',
  '/data/source': 'Source',
  '/data/type': 'Type',
  '/data/occurredAt': 'Time',
  '/data/payload': 'All fields of the activity',
}
const PLACE = /^\{\{(\/[^{}]+)\}\}$/
/** Only the first fields of the newest activity are offered. */
const FIELDS_MAX = 30
const VALUE_LENGTH_MAX = 60

type Json = Record<string, unknown>
/** A member of a template that is filled with one place. */
type Row = { readonly parent: Json; readonly name: string; readonly place: string }

/** The members that are filled with one place, in their order. */
const rowsIn = (value: unknown): Row[] => {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, child]) => {
    const place = typeof child === 'string' ? PLACE.exec(child)?.[1] : undefined
    return place === undefined ? rowsIn(child) : [{ parent: value as Json, name, place }]
  })
}

/** A template as a form: for each field of the receiver, what fills it. `write` gets the template once it is changed. */
export const templateForm = (write: (template: string) => void) => {
  const element = h('div.fields')
  const show = (template: string, event: NewestEvent | null): void => {
    const parsed = parsedOrNull(template)
    const rows = rowsIn(parsed)
    const last = rows.at(-1)
    element.hidden = last === undefined
    if (last === undefined) return
    const data = event === null ? '{}' : memberOf(event.text, 'data')
    const fieldsAt = (place: string, json: string) =>
      Object.fromEntries(fieldsIn(json, FIELDS_MAX).map(({ path, pointer }) => [`${place}${pointer}?`, path]))
    const places = {
      ...PLACES,
      ...fieldsAt('/data/prospect/attributes', memberOf(memberOf(data, 'prospect'), 'attributes')),
      ...fieldsAt('/data/payload', memberOf(data, 'payload')),
    }
    const save = (): void => write(JSON.stringify(parsed, null, 2))
    const selectOf = (label: string, place: string, choose: (place: string) => void) => {
      const texts = { ...(place !== '' && { [place]: place }), '': 'nothing', ...places }
      const options = Object.entries(texts).map(([value, text]) => h('option', { value }, text))
      const onchange = ({ target }: Event) => choose((target as HTMLSelectElement).value)
      return h('select', { 'aria-label': label, value: place, onchange }, options)
    }
    const lines = rows.map(({ parent, name, place }) => {
      const choose = (chosen: string): void => {
        if (chosen === '') delete parent[name]
        else parent[name] = `{{${chosen}}}`
        save()
      }
      return [
        h('span', bdi(name)),
        selectOf(`What fills ${name}`, place, choose),
        h('small', bdi(event === null ? '' : valueAt(place, event))),
      ]
    })
    const added = h('input', { placeholder: 'Another field', 'aria-label': 'Another field of the receiver' })
    const add = (place: string): void => {
      if (added.value.trim() === '' || place === '') return
      last.parent[added.value.trim()] = `{{${place}}}`
      save()
    }
    const source = selectOf('What fills the other field', '', add)
    refill(
      element,
      h(
        'div.filled',
        lines,
        added,
        source,
        button('Add', () => add(source.value)),
      ),
    )
  }
  return { element, show }
}

const parsedOrNull = (template: string): unknown => {
  try {
    return JSON.parse(template)
  } catch {
    return null
  }
}

/** What a place gives for an event, as text. */
const valueAt = (place: string, event: NewestEvent): string => {
  const { template } = parseTemplate(JSON.stringify(`{{${place}}}`))
  const value = render(template, event.text, event.text.length + VALUE_LENGTH_MAX) ?? ''
  const text = value.startsWith('"') ? String(JSON.parse(value)) : value
  if (text === 'null') return 'nothing'
  return text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX)}…` : text
}
