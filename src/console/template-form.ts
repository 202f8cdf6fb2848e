import { parseTemplate, render } from '../json/template.ts'
import { absolute, bdi, button, h, refill } from './dom.ts'
import { fieldsIn } from './fields.ts'
import type { NewestEvent } from './newest-event.ts'
import { memberOf } from './raw.ts'

/** What fills a receiver's field, by its place in a template, in groups. A place with `?` may lead to nothing. */
type Places = Readonly<Record<string, string>>
const PERSON: Places = {
  '/data/prospect/email': 'Email',
  '/data/prospect/name?': 'Name',
  '/data/prospect/firstName?': 'First name',
  '/data/prospect/lastName?': 'Last name',
  '/data/prospect/externalId?': 'External ID',
}
const ACTIVITY: Places = {
  '/data/source': 'Source',
  '/data/type': 'Type',
  '/data/occurredAt': 'Time',
}
const ATTRIBUTES = '/data/prospect/attributes'
const PAYLOAD = '/data/payload'
/** Attributes that most tenants have. */
const USUAL_ATTRIBUTES = ['company', 'phone']
const PLACE = /^\{\{(\/[^{}]+)\}\}$/
/** Only the first fields of the newest activity are offered. */
const FIELDS_MAX = 30
const VALUE_LENGTH_MAX = 60

/** What receivers call their fields, in words. Any other name is shown unchanged. */
const LABELS: Readonly<Record<string, string>> = {
  email: 'Email',
  name: 'Name',
  firstname: 'First name',
  lastname: 'Last name',
  company: 'Company',
  phone: 'Phone',
  text: 'Message',
  source: 'Source',
  type: 'Type',
  occurredat: 'Time',
  attributes: 'Fields of the person',
  payload: 'Fields of the activity',
}
const labelOf = (name: string): string => {
  const key = name.toLowerCase()
  return Object.hasOwn(LABELS, key) ? (LABELS[key] as string) : name
}

type Json = Record<string, unknown>
type Member = { readonly parent: Json; readonly name: string }
/**
 * A field of the receiver: the members of a template that are filled alike. `place` is null for a text with several places,
 * which is shown only as it would be sent.
 */
type Field = {
  readonly name: string
  readonly members: Member[]
  readonly text: string
  readonly place: string | null
}

/** The name of a member. To HubSpot, `id` is the value of the property that `idProperty` names. */
const nameOf = ({ parent, name }: Member): string => {
  const { idProperty } = parent
  return name === 'id' && typeof idProperty === 'string' ? idProperty : name
}

const membersIn = (value: unknown): (Member & { readonly text: string })[] => {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, child]) => {
    if (typeof child !== 'string') return membersIn(child)
    return child.includes('{{') ? [{ parent: value as Json, name, text: child }] : []
  })
}

/** The fields that a template fills, in their order. */
const fieldsOf = (template: unknown): readonly Field[] => {
  const fields: Field[] = []
  for (const { parent, name, text } of membersIn(template)) {
    const member = { parent, name }
    const same = fields.find((field) => field.name === nameOf(member) && field.text === text)
    if (same) same.members.push(member)
    else fields.push({ name: nameOf(member), members: [member], text, place: PLACE.exec(text)?.[1] ?? null })
  }
  return fields
}

/** What can be chosen, by the title of its group. */
const choicesFor = (event: NewestEvent | null, seen: readonly string[]): Readonly<Record<string, Places>> => {
  const data = event === null ? '{}' : memberOf(event.text, 'data')
  const attributes = memberOf(memberOf(data, 'prospect'), 'attributes')
  const placesIn = (place: string, json: string): Places =>
    Object.fromEntries(fieldsIn(json, FIELDS_MAX).map(({ path, pointer }) => [`${place}${pointer}?`, path]))
  const named = [...USUAL_ATTRIBUTES, ...seen].map((name) => [`${ATTRIBUTES}/${escaped(name)}?`, name])
  return {
    Person: PERSON,
    'Further fields of the person': {
      ...Object.fromEntries(named),
      ...placesIn(ATTRIBUTES, attributes),
      [ATTRIBUTES]: 'All of them',
    },
    Activity: ACTIVITY,
    'Fields of the newest activity': {
      ...placesIn(PAYLOAD, memberOf(data, 'payload')),
      [PAYLOAD]: 'All of them',
    },
  }
}

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

/** A place that is in no group, by the last part of its pointer. */
const wordsOf = (place: string): string =>
  place.replace(/\?$/, '').split('/').at(-1)?.replaceAll('~1', '/').replaceAll('~0', '~') ?? place

/** A template as a form: for each field of the receiver, what fills it. `write` gets the template once it is changed. */
export const templateForm = (write: (template: string) => void) => {
  const element = h('div.fields')
  const show = (template: string, event: NewestEvent | null, seen: readonly string[]): void => {
    const parsed = parsedOrNull(template)
    const fields = fieldsOf(parsed)
    const last = fields.findLast(({ place }) => place !== null)?.members.at(-1)
    element.hidden = fields.length === 0
    const choices = choicesFor(event, seen)
    const save = (): void => write(JSON.stringify(parsed, null, 2))
    const selectOf = (label: string, place: string, choose: (place: string) => void, isRequired = false) => {
      const isListed = Object.values(choices).some((places) => Object.hasOwn(places, place))
      const optionOf = ([value, text]: readonly [string, string]) => h('option', { value }, text)
      const groups = Object.entries(choices).map(([label, places]) =>
        h('optgroup', { label }, Object.entries(places).map(optionOf)),
      )
      const onchange = ({ target }: Event) => choose((target as HTMLSelectElement).value)
      return h(
        'select',
        { 'aria-label': label, value: place, onchange },
        !isRequired && optionOf(['', 'nothing']),
        place !== '' && !isListed && optionOf([place, wordsOf(place)]),
        groups,
      )
    }
    const lineOf = ({ name, members, text, place }: Field) => {
      const label = labelOf(name)
      if (place === null) return [h('span', label), h('p.message', bdi(textOf(text, event)))]
      const choose = (chosen: string): void => {
        for (const { parent, name } of members) {
          if (chosen === '') delete parent[name]
          else parent[name] = `{{${chosen}}}`
        }
        save()
      }
      const isRequired = members.some((member) => nameOf(member) !== member.name)
      return [
        h('span', bdi(label)),
        selectOf(`What fills ${label}`, place, choose, isRequired),
        event === null ? h('small') : valueShown(valueAt(place, event)),
      ]
    }
    const another = (parent: Json) => {
      const added = h('input', {
        placeholder: 'Another field',
        'aria-label': 'Another field of the receiver',
      })
      const add = (place: string): void => {
        if (added.value.trim() === '' || place === '') return
        parent[added.value.trim()] = `{{${place}}}`
        save()
      }
      const source = selectOf('What fills the other field', '', add)
      return [added, source, button('Add', () => add(source.value))]
    }
    refill(
      element,
      h(
        'div.filled',
        last && HEADS.map((head) => h('small.head', { 'aria-hidden': 'true' }, head)),
        fields.map(lineOf),
        last && another(last.parent),
      ),
    )
  }
  return { element, show }
}

const ATTRIBUTE_PLACE = /\{\{\/data\/prospect\/attributes\/([^{}]+)\?\}\}/g

/**
 * A preset for what there is: an attribute that the person has not, but the newest activity has in a field of the same
 * name, is taken from that field.
 */
export const fitted = (preset: string, event: NewestEvent | null): string => {
  if (event === null) return preset
  const fields = fieldsIn(memberOf(memberOf(event.text, 'data'), 'payload'), FIELDS_MAX)
  return preset.replace(ATTRIBUTE_PLACE, (place, name: string) => {
    if (valueAt(place.slice(2, -2), event) !== NOTHING) return place
    const isNamesake = ({ pointer }: (typeof fields)[number]) =>
      wordsOf(pointer).toLowerCase() === name.toLowerCase()
    const namesake = fields.find(isNamesake)
    return namesake ? `{{${JSON.stringify(`${PAYLOAD}${namesake.pointer}`).slice(1, -1)}?}}` : place
  })
}

const HEADS = ['Their field', 'Filled with', 'For the newest activity']

const parsedOrNull = (template: string): unknown => {
  try {
    return JSON.parse(template)
  } catch {
    return null
  }
}

/** What a text of a template becomes for an event, as JSON. */
const rendered = (text: string, event: NewestEvent): string => {
  const { template } = parseTemplate(JSON.stringify(text))
  return render(template, event.text, event.text.length + text.length) ?? ''
}

const textOf = (text: string, event: NewestEvent | null): string =>
  event === null ? '…' : String(JSON.parse(rendered(text, event) || '""'))

const NOTHING = 'nothing'
const valueShown = (value: string) =>
  value === NOTHING ? h('small.warning', 'nothing: it stays empty') : h('small', bdi(value))

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

/** What a place gives for an event, in words. */
const valueAt = (place: string, event: NewestEvent): string => {
  const value = rendered(`{{${place}}}`, event)
  if (value === 'null' || value === '') return NOTHING
  if (value.startsWith('"')) {
    const text = String(JSON.parse(value))
    if (text.trim() === '') return NOTHING
    return TIME.test(text) ? absolute(text) : cut(text)
  }
  if (!/^[{[]/.test(value)) return value
  const fields = fieldsIn(value, FIELDS_MAX)
  return cut(fields.map(({ path, text }) => `${path} ${text}`).join(', ') || NOTHING)
}

const cut = (text: string): string =>
  text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX)}…` : text
