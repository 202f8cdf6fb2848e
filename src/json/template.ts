import { findInJson, type PointerTree, pointerTree } from './find-in-json.ts'
import { eachChild, endOfString, endOfValue, skipBlanks } from './raw-json.ts'

/**
 * A JSON text with places for values of another one. A string that is wholly `{{/pointer}}` stands for the value there, one
 * that contains it for its text; with `{{/pointer?}}` the member or element is left out if nothing or null is there.
 */
export type Template = { readonly root: Node; readonly pointers: PointerTree }
/** A JSON text sent as written, a string with places, or an object or array that holds one. */
type Node = string | Filled | Parent
/** The texts around the places, as JSON escapes them. */
type Filled = { readonly texts: readonly string[]; readonly places: readonly Place[] }
type Place = { readonly pointer: string; readonly isOptional: boolean }
type Parent = { readonly isList: boolean; readonly children: readonly Child[] }
/** `label`: the name of a member and its colon; empty in an array. */
type Child = { readonly label: string; readonly node: Node }

type TemplateFault = { readonly detail: string; readonly pointer: string }
/** A JSON Pointer. One that contains `{{` was not closed before the next place. */
const POINTER = /^\/(?!.*\{\{)(?:[^~]|~[01])*$/s
const UNREADABLE = 'must have a JSON Pointer between {{ and }}, such as {{/data/prospect/email}}'

/** Parses a template. The text must be well-formed JSON. `faults`: the places that are not written as one, by their pointers. */
export const parseTemplate = (text: string): { template: Template; faults: readonly TemplateFault[] } => {
  const faults: TemplateFault[] = []
  const pointers = new Set<string>()

  const stringAt = (written: string, path: string): Node => {
    const value: string = written.includes('\\') ? JSON.parse(written) : written.slice(1, -1)
    const places: Place[] = []
    const texts: string[] = []
    let from = 0
    for (let at = value.indexOf('{{'); at >= 0; at = value.indexOf('{{', from)) {
      const end = value.indexOf('}}', at)
      const place = end < 0 ? '' : value.slice(at + 2, end)
      const isOptional = place.endsWith('?')
      const pointer = isOptional ? place.slice(0, -1) : place
      if (!POINTER.test(pointer)) {
        faults.push({ detail: UNREADABLE, pointer: path })
        return written
      }
      texts.push(escaped(value.slice(from, at)))
      places.push({ pointer, isOptional })
      pointers.add(pointer)
      from = end + 2
    }
    return places.length === 0 ? written : { texts: [...texts, escaped(value.slice(from))], places }
  }
  const nodeAt = (begin: number, path: string): { node: Node; end: number } => {
    const first = text[begin]
    if (first === '"') {
      const end = endOfString(text, begin)
      return { node: stringAt(text.slice(begin, end), path), end }
    }
    const children: Child[] = []
    const isList = first === '['
    if (!isList && first !== '{') {
      const { end } = endOfValue(text, begin)
      return { node: text.slice(begin, end), end }
    }
    const end = eachChild(text, begin, (name, at) => {
      const child = nodeAt(at, `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)
      children.push({ label: isList ? '' : `${JSON.stringify(name)}:`, node: child.node })
      return child.end
    })
    const isFixed = children.every(({ node }) => typeof node === 'string')
    return { node: isFixed ? text.slice(begin, end) : { isList, children }, end }
  }

  const { node: root } = nodeAt(skipBlanks(text, 0), '')
  return { template: { root, pointers: pointerTree([...pointers]) }, faults }
}

/**
 * Fills in a template from a well-formed JSON text. Every template gives well-formed JSON with every text: what is inserted is
 * never parsed again, and a pointer that leads nowhere gives null, or no text. Null if the result would be longer than this.
 * The time that it takes grows with the lengths of the template, the text and the result.
 */
export const render = ({ root, pointers }: Template, text: string, charactersMax: number): string | null => {
  const find = findInJson(text, pointers)
  let left = charactersMax
  const add = (part: string): string => {
    left -= part.length
    return left < 0 ? '' : part
  }
  /** Undefined if the member or element is left out. */
  const write = (node: Node): string | undefined => {
    if (typeof node === 'string' || left < 0) return add(String(node))
    if ('places' in node) return fill(node)
    const written = node.children.flatMap(({ label, node }) => {
      const value = write(node)
      return value === undefined ? [] : [add(label) + value]
    })
    return node.isList ? `[${written}]` : `{${written}}`
  }
  const fill = ({ texts, places }: Filled): string | undefined => {
    const values = places.map(({ pointer }) => find(pointer) ?? 'null')
    if (places.some(({ isOptional }, i) => isOptional && values[i] === 'null')) return undefined
    const [value = ''] = values
    if (values.length === 1 && texts.every((around) => around === '')) return add(value)
    const filled = texts.map((around, i) => add(around) + (left < 0 ? '' : add(textOf(values[i]))))
    return `"${filled.join('')}"`
  }
  const result = write(root) ?? 'null'
  return left < 0 || result.length > charactersMax ? null : result
}

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)
/** A value as the text within a string: nothing for null, the JSON of an object or an array. */
const textOf = (value = 'null'): string => {
  if (value === 'null') return ''
  if (value.startsWith('"')) return value.slice(1, -1)
  return value.startsWith('{') || value.startsWith('[') ? escaped(value) : value
}
