import { eachChild, endOfValue, skipBlanks } from '../json/raw-json.ts'
import { bdi, button, type Child, h } from './dom.ts'
import { jsonOnDemand } from './json-on-demand.ts'
import { code, copy, pretty } from './notices.ts'

/** A value in a payload, with the names on the way to it, `address › city`, and its JSON Pointer. */
export type Field = {
  readonly path: string
  readonly pointer: string
  readonly text: string
  readonly isNumber: boolean
}
type Way = Pick<Field, 'path' | 'pointer'>

/** Values that are nested deeper than this are shown as JSON. */
const LEVELS_MAX = 6
const TEXT_LENGTH_MAX = 1_000
const PATH_LENGTH_MAX = 200

/** The values in a JSON object, in its order, up to a number of them. Numbers keep their digits. Null and blank texts are left out. */
export const fieldsIn = (
  json: string,
  fieldsMax: number,
  textLengthMax = TEXT_LENGTH_MAX,
): readonly Field[] => {
  const fields: Field[] = []
  const add = ({ path, pointer }: Way, text: string, isNumber = false): void => {
    const isCut = text.length > textLengthMax
    const shown = isCut ? `${text.slice(0, textLengthMax)}…` : text
    if (text.trim() !== '')
      fields.push({
        path: copyOf(path.slice(0, PATH_LENGTH_MAX)),
        pointer: copyOf(pointer),
        text: copyOf(shown),
        isNumber,
      })
  }
  /** Returns the end of the value. */
  const visit = (begin: number, way: Way, level: number): number => {
    const { end } = endOfValue(json, begin)
    const first = json[begin] ?? ''
    if (fields.length >= fieldsMax || first === 'n') return end
    if (first === '"') add(way, JSON.parse(json.slice(begin, end)))
    else if (first !== '{' && first !== '[') add(way, json.slice(begin, end), first !== 't' && first !== 'f')
    else if (level > LEVELS_MAX) add(way, json.slice(begin, begin + textLengthMax + 1))
    else if (first === '[' && isListOfTexts(json, begin)) add(way, listedTexts(json.slice(begin, end)))
    else
      eachChild(json, begin, (name, at) => {
        const label = first === '[' ? `${Number(name) + 1}` : name
        const path = way.path === '' ? label : `${way.path} › ${label}`
        const pointer = `${way.pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
        return visit(at, { path, pointer }, level + 1)
      })
    return end
  }
  visit(skipBlanks(json, 0), { path: '', pointer: '' }, 0)
  return fields
}

/** Whether an array has elements, and neither objects nor arrays among them. */
const isListOfTexts = (json: string, begin: number): boolean => {
  let isFlat = true
  let length = 0
  eachChild(json, begin, (_, at) => {
    length++
    if (json[at] === '{' || json[at] === '[') isFlat = false
    return endOfValue(json, at).end
  })
  return isFlat && length > 0
}

const listedTexts = (json: string): string => {
  const texts: string[] = []
  eachChild(json, 0, (_, begin) => {
    const { end } = endOfValue(json, begin)
    const text = json.slice(begin, end)
    texts.push(text.startsWith('"') ? JSON.parse(text) : text)
    return end
  })
  return texts.join(', ')
}

/** A substring keeps the whole text in memory, unless it is copied. */
const copyOf = (text: string): string => new TextDecoder().decode(new TextEncoder().encode(text))

/** The first fields in one line. */
export const fieldsInLine = (fields: readonly Field[]): Child =>
  fields.map(({ path, text }) => h('span.pair', h('span.muted', bdi(path)), ' ', bdi(text)))

/** So many fields are shown at first. */
const SHOWN_MAX = 20
/** More fields than this are shown only as JSON. */
const FIELDS_MAX = 500

/** A payload as labels and values, and as JSON on demand. `more`: buttons beside those that copy it. */
export const payloadShown = (json: string, ...more: readonly Child[]): Child =>
  fieldsShown('Payload', json, ...more)

/** The same for any other JSON object. */
export const fieldsShown = (name: string, json: string, ...more: readonly Child[]): Child => {
  const fields = fieldsIn(json, FIELDS_MAX)
  const list = h('dl.facts', fields.slice(0, SHOWN_MAX).map(pairOf))
  const rest = fields.slice(SHOWN_MAX)
  const showRest = button(`Show ${rest.length} more`, () => {
    list.append(...rest.flatMap(pairOf))
    showRest.remove()
    list.querySelectorAll('dd')[SHOWN_MAX]?.scrollIntoView({ block: 'nearest' })
  })
  return [
    fields.length > 0 ? list : h('p.muted', 'Nothing else was sent.'),
    rest.length > 0 && showRest,
    jsonOnDemand(
      () => code(pretty(json), name),
      button(`Copy ${name.toLowerCase()}`, () => copy(json)),
      ...more,
    ),
  ]
}

const pairOf = ({ path, text }: Field) => [h('dt', bdi(path)), h('dd', bdi(text))]
