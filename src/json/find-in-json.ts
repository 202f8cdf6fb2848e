import { eachChild, endOfValue, nameIn, skipBlanks } from './raw-json.ts'

/**
 * JSON Pointers (RFC 6901) as a tree, so that one walk over a text finds the values of all of them. A token `name[member=value]`
 * leads to the first element of the array `name` whose member has this value, unless there is a member that is called so.
 */
export type PointerTree = {
  readonly root: Wanted
  /** The tokens of each pointer: in an object, and in an array, which is stored as the `items` of an object. */
  readonly tokens: ReadonlyMap<string, readonly [inObject: readonly string[], inArray: readonly string[]]>
}
/** The children to enter. All elements of an array share one node, so the tree stays as small as the pointers. */
type Wanted = {
  readonly names: Map<string, Wanted>
  elements?: Wanted
  /** The values to look for, by member. */
  readonly selected: Map<string, Set<string>>
}
/** Where a value stands, with the wanted ones of its children. */
type Found = {
  end: number
  readonly begin: number
  readonly names: Map<string, Found>
  /** The first element that has a value, by `member=value`. */
  readonly selected: Map<string, Found>
}

const newWanted = (): Wanted => ({ names: new Map(), selected: new Map() })
const INDEX = /^(0|[1-9]\d*)$/
const SELECTOR = /^([^=]*)\[([^[\]=]+)=(.*)\]$/s

export const pointerTree = (pointers: readonly string[]): PointerTree => {
  const root = newWanted()
  const tokens = pointers.map((pointer) => {
    const inArray = pointer.replace(/^\/items(?=\/|$)/, '').replace(/^\/items\[/, '/[')
    const both = [tokensOf(pointer), tokensOf(inArray)] as const
    for (const path of both) path.reduce(enter, root)
    return [pointer, both] as const
  })
  return { root, tokens: new Map(tokens) }
}
const tokensOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))

const enter = (node: Wanted, token: string): Wanted => {
  const known = node.names.get(token)
  if (known) return known
  const [, name = '', member, value = ''] = SELECTOR.exec(token) ?? []
  const list = member === undefined || name === '' ? node : enter(node, name)
  const isElement = member !== undefined || INDEX.test(token)
  const child = (isElement && list.elements) || newWanted()
  if (isElement) list.elements = child
  node.names.set(token, child)
  if (member === undefined) return child
  list.selected.set(member, (list.selected.get(member) ?? new Set()).add(value))
  enter(child, member)
  return child
}

/**
 * Finds the exact texts of the values that the pointers of a tree lead to, in one pass. Nothing is parsed, so the cost
 * depends on the length of the text, not on its content, the depth of the tree or the number of pointers. The text must be
 * well-formed JSON.
 */
export const findInJson = (text: string, { root, tokens }: PointerTree) => {
  const begin = skipBlanks(text, 0)
  const whole = walk(text, root, begin)
  return (pointer: string): string | undefined => {
    const path = tokens.get(pointer)?.[text[begin] === '[' ? 1 : 0]
    const found = path?.reduce<Found | undefined>(step, whole)
    return path && found && text.slice(found.begin, found.end)
  }
}

const step = (found: Found | undefined, token: string): Found | undefined => {
  const child = found?.names.get(token)
  if (child || !found || !token.endsWith(']')) return child
  const [, name = '', member, value] = SELECTOR.exec(token) ?? []
  return (name === '' ? found : found.names.get(name))?.selected.get(`${member}=${value}`)
}

/** A selector looks at so many elements of an array: as many as one delivery has activities. */
const SELECTED_AMONG_MAX = 1_000
const NONE: Found['names'] = new Map()
const walk = (text: string, wanted: Wanted, begin: number): Found => {
  const isList = text[begin] === '['
  const isEntered = isList ? wanted.elements : text[begin] === '{' && wanted.names.size > 0
  if (!isEntered) return { begin, end: endOfValue(text, begin).end, names: NONE, selected: NONE }
  const selected = isList && wanted.selected.size > 0 ? new Map<string, Found>() : NONE
  const found: Found = { begin, end: begin, names: new Map(), selected }
  found.end = eachChild(text, begin, (name, at) => {
    const next = isList ? wanted.elements : wanted.names.get(name)
    const isAmong = selected !== NONE && Number(name) < SELECTED_AMONG_MAX
    const mayBeSelected = isAmong && (text[at] === '{' || text[at] === '[')
    const isLookedAt = !isList || wanted.names.has(name) || mayBeSelected
    if (next === undefined || !isLookedAt) return endOfValue(text, at).end
    const child = walk(text, next, at)
    // The last of several members with the same name counts.
    if (!isList || wanted.names.has(name)) found.names.set(name, child)
    if (isAmong)
      for (const [member, { begin, end }] of child.names) {
        const value = wanted.selected.has(member) ? scalarIn(text, begin, end) : null
        const key = `${member}=${value}`
        if (value !== null && wanted.selected.get(member)?.has(value) && !selected.has(key))
          selected.set(key, child)
      }
    return child.end
  })
  return found
}

/** The longest value of a selector, however it is escaped. */
const SCALAR_LENGTH_MAX = 6 * 255 + 2
/** The text of a string, a number, a boolean or null; null for anything else. */
const scalarIn = (text: string, begin: number, end: number): string | null => {
  if (end - begin > SCALAR_LENGTH_MAX || text[begin] === '{' || text[begin] === '[') return null
  return text[begin] === '"' ? nameIn(text.slice(begin, end)) : text.slice(begin, end)
}
