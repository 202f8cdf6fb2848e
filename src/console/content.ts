import { eachChild, endOfValue, skipBlanks } from '../json/raw-json.ts'
import { sharedItems } from './shared-items.ts'

/**
 * How a value is shown and edited: `flag` is true or false, `nothing` is null, `lines` is a list of texts or of numbers.
 * `other`, only as JSON: an empty object, or a value that is nested too deep.
 */
type Kind = 'text' | 'number' | 'flag' | 'nothing' | 'lines' | 'object' | 'list' | 'other'

/** A value in the content of a page. */
export type Value = {
  readonly kind: Kind
  /** The names on the way to it: `seo › title`. Items of a list are counted from 1. */
  readonly path: string
  readonly name: string
  /** Its exact text, and where that begins. */
  readonly json: string
  readonly begin: number
  /** The members of an object, or the items of a list. */
  readonly children: readonly Value[]
}

/** Values that are nested deeper than this are shown and edited only as JSON. */
const LEVELS_MAX = 6

/** A JSON text as a value, with the values inside. The text must be well-formed. */
export const valueIn = (json: string): Value => readValue(json, skipBlanks(json, 0), '', [])

const readValue = (text: string, begin: number, name: string, names: readonly string[]): Value => {
  const json = text.slice(begin, endOfValue(text, begin).end)
  const isList = json.startsWith('[')
  /** Of several members with the same name, the last one counts. */
  const children = new Map<string, Value>()
  if (names.length < LEVELS_MAX)
    eachChild(text, begin, (name, at) => {
      const label = isList ? `${Number(name) + 1}` : name || '(no name)'
      const child = readValue(text, at, name, [...names, label])
      children.set(name, child)
      return at + child.json.length
    })
  const inside = [...children.values()]
  return { kind: kindOf(json, inside), path: names.join(' › '), name, json, begin, children: inside }
}

const KINDS: Readonly<Record<string, Kind>> = { '"': 'text', t: 'flag', f: 'flag', n: 'nothing' }
const kindOf = (json: string, children: readonly Value[]): Kind => {
  const first = json[0] ?? ''
  if (first === '{') return children.length > 0 ? 'object' : 'other'
  if (first !== '[') return KINDS[first] ?? 'number'
  if (children.length === 0) return /^\[\s*\]$/.test(json) ? 'lines' : 'other'
  const areTexts = children.every(({ kind, json }) => kind === 'text' && !json.includes('\\n'))
  return areTexts || children.every(({ kind }) => kind === 'number') ? 'lines' : 'list'
}

/** The values of a content that each are a field. There is none if it has no members, or is null. */
export const fieldsOf = (content: string): readonly Value[] =>
  objectIn(content)?.children.flatMap(leavesOf) ?? []

const objectIn = (content: string): Value | null => {
  const value = valueIn(content)
  return value.kind === 'object' ? value : null
}

const isLeaf = ({ kind }: Value): boolean => kind !== 'object' && kind !== 'list'
const leavesOf = (value: Value): readonly Value[] =>
  isLeaf(value) ? [value] : value.children.flatMap(leavesOf)

/** A value as people read it. Empty for null. */
export const textOf = ({ kind, json, children }: Value): string => {
  if (kind === 'text') return JSON.parse(json)
  if (kind === 'lines') return children.map(textOf).join('\n')
  if (kind === 'flag') return json === 'true' ? 'yes' : 'no'
  if (kind === 'nothing' || /^\{\s*\}$/.test(json)) return ''
  return kind === 'other' ? 'nested too deep: see the JSON' : json
}

/** The same fields with nothing in them, as JSON: one empty item for a list of objects, 0 for a number. */
export const blankOf = ({ kind, json, children }: Value): string => {
  const [first] = children
  if (kind === 'text') return '""'
  if (kind === 'number') return '0'
  if (kind === 'flag') return 'false'
  if (kind === 'nothing') return 'null'
  if (kind === 'list') return `[${first ? blankOf(first) : ''}]`
  if (kind === 'object')
    return `{${children.map((child) => `${JSON.stringify(child.name)}:${blankOf(child)}`)}}`
  return json.startsWith('{') ? '{}' : '[]'
}

/** A JSON object with one more member, an empty text, unless it has a member of that name. */
export const withMember = (json: string, name: string): string => {
  const { children, begin, json: object } = valueIn(json)
  if (children.some((child) => child.name === name)) return json
  const end = begin + object.length - 1
  const comma = children.length > 0 ? ',' : ''
  return `${json.slice(0, end)}${comma}${JSON.stringify(name)}:""${json.slice(end)}`
}

/** A field that differs: null on the side that lacks it. */
export type Change = { readonly before: Value | null; readonly after: Value | null }

/** The fields that differ between two contents, in their order. Items of a list are matched: one that is inserted changes no other. */
export const changedFields = (before: string, after: string): readonly Change[] =>
  changesBetween(objectIn(before), objectIn(after))

const changesBetween = (before: Value | null, after: Value | null): readonly Change[] => {
  if (before && after) {
    if (compact(before) === compact(after)) return []
    if (before.kind === 'object' && after.kind === 'object') return changesOfMembers(before, after)
    if (before.kind === 'list' && after.kind === 'list') return changesOfItems(before, after)
    if (isLeaf(before) && isLeaf(after)) return [{ before, after }]
  }
  return [
    ...(before ? leavesOf(before) : []).map((before) => ({ before, after: null })),
    ...(after ? leavesOf(after) : []).map((after) => ({ before: null, after })),
  ]
}

/** The JSON of a value without blanks between the values inside. */
const compact = ({ kind, json, children }: Value): string =>
  children.length === 0
    ? json
    : `${kind}:${children.map((child) => `${JSON.stringify(child.name)}:${compact(child)}`)}`

const changesOfMembers = (before: Value, after: Value): readonly Change[] => {
  const valuesBefore = new Map(before.children.map((child) => [child.name, child]))
  const valuesAfter = new Map(after.children.map((child) => [child.name, child]))
  const names = new Set([...valuesBefore.keys(), ...valuesAfter.keys()])
  return [...names].flatMap((name) =>
    changesBetween(valuesBefore.get(name) ?? null, valuesAfter.get(name) ?? null),
  )
}

const changesOfItems = ({ children: before }: Value, { children: after }: Value): readonly Change[] => {
  const shared = sharedItems(before.map(compact), after.map(compact))
  const changes: Change[] = []
  let i = 0
  let j = 0
  while (i < before.length || j < after.length) {
    const removed = shared.left.has(i) ? null : (before[i] ?? null)
    const added = shared.right.has(j) ? null : (after[j] ?? null)
    changes.push(...changesBetween(removed, added))
    const areShared = removed === null && added === null
    if (removed || areShared) i++
    if (added || areShared) j++
  }
  return changes
}
