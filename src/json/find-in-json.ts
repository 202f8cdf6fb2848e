import { objectOrArrayIn } from './is-json.ts'
import { eachChild, endOfValue, nameIn, skipBlanks } from './raw-json.ts'

/**
 * JSON Pointers (RFC 6901) as a tree, so that one walk over a text finds the values of all of them. A token `name[member=value]`
 * leads to the first element of the array `name` whose member has this value, unless a member has this name.
 */
export type PointerTree = {
  readonly root: PointerNode
  readonly tokens: ReadonlyMap<string, PointerTokens>
}
/** The tokens of a pointer: in an object, and in an array, which is stored as the `items` of an object. */
type PointerTokens = { readonly inObject: readonly string[]; readonly inArray: readonly string[] }
/** The children to enter. All elements of an array share one node, so the tree stays as small as the pointers. */
type PointerNode = {
  readonly names: Map<string, PointerNode>
  elements?: PointerNode
  /** The values that selectors compare, by member. */
  readonly selected: Map<string, Set<string>>
}
/** The position of a value in a text, and those of its children that pointers need. */
type FoundValue = {
  /** The whole text, or the JSON in one of its strings. */
  readonly text: string
  readonly begin: number
  readonly end: number
  readonly names: ReadonlyMap<string, FoundValue>
  /** The first element that each selector matches, by `member=value`. */
  readonly selected: ReadonlyMap<string, FoundValue>
  /** Of a string that pointers lead into: the JSON that it holds, or null. */
  readonly opened?: () => FoundValue | null
}

export const pointerTree = (pointers: readonly string[]): PointerTree => {
  const root = newNode()
  const tokens = new Map<string, PointerTokens>()
  for (const pointer of pointers) {
    const withoutItems = pointer.replace(/^\/items(?=\/|$)/, '').replace(/^\/items\[/, '/[')
    const inObject = tokensOf(pointer)
    const inArray = tokensOf(withoutItems)
    inObject.reduce(addChild, root)
    inArray.reduce(addChild, root)
    tokens.set(pointer, { inObject, inArray })
  }
  return { root, tokens }
}

const newNode = (): PointerNode => ({ names: new Map(), selected: new Map() })

const tokensOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))

/** The child of a node that a token leads to. Adds it if it is missing. */
const addChild = (node: PointerNode, token: string): PointerNode => {
  const known = node.names.get(token)
  if (known) return known
  const child = newChild(node, token)
  node.names.set(token, child)
  return child
}

const INDEX = /^(0|[1-9]\d*)$/
const newChild = (node: PointerNode, token: string): PointerNode => {
  const selector = selectorIn(token)
  if (selector !== null) return addSelector(node, selector)
  return INDEX.test(token) ? elementsOf(node) : newNode()
}

const elementsOf = (node: PointerNode): PointerNode => {
  node.elements ??= newNode()
  return node.elements
}

const addSelector = (node: PointerNode, { list, member, value }: Selector): PointerNode => {
  const listNode = list === '' ? node : addChild(node, list)
  const values = listNode.selected.get(member) ?? new Set()
  listNode.selected.set(member, values.add(value))
  const elements = elementsOf(listNode)
  addChild(elements, member)
  return elements
}

const SELECTOR = /^([^=]*)\[([^[\]=]+)=(.*)\]$/s
type Selector = { readonly list: string; readonly member: string; readonly value: string }
/** The parts of a token such as `name[member=value]`. `list` is empty if the elements are those of the array itself. */
const selectorIn = (token: string): Selector | null => {
  // Hardly any token is a selector, and this costs less than the expression.
  if (!token.endsWith(']')) return null
  const [, list = '', member, value = ''] = SELECTOR.exec(token) ?? []
  return member === undefined ? null : { list, member, value }
}
const selectedKey = (member: string, value: string): string => `${member}=${value}`

/**
 * Finds the exact texts of the values that the pointers of a tree lead to, in one pass. Nothing is parsed, so the cost
 * depends on the length of the text, not on its content, the depth of the tree or the number of pointers. The text must be
 * well-formed JSON. Where a pointer leads into a string, it goes on in the JSON object or array that this holds, or base64 of
 * one, in up to `textsMax` strings one within another.
 */
export const findInJson = (text: string, { root, tokens }: PointerTree, textsMax = 0) => {
  const begin = skipBlanks(text, 0)
  const whole = walk({ text, textsMax }, root, begin)
  const form = text[begin] === '[' ? 'inArray' : 'inObject'
  return (pointer: string): string | undefined => {
    const path = tokens.get(pointer)?.[form]
    const found = path?.reduce<FoundValue | undefined>(childOf, whole)
    return found?.text.slice(found.begin, found.end)
  }
}

const childOf = (found: FoundValue | undefined, token: string): FoundValue | undefined => {
  const parent = entered(found)
  if (parent === undefined) return undefined
  const child = parent.names.get(token)
  if (child !== undefined) return child
  const selector = selectorIn(token)
  if (selector === null) return undefined
  const list = selector.list === '' ? parent : entered(parent.names.get(selector.list))
  return list?.selected.get(selectedKey(selector.member, selector.value))
}
const entered = (found: FoundValue | undefined): FoundValue | undefined => found?.opened?.() ?? found

const NO_CHILDREN: ReadonlyMap<string, FoundValue> = new Map()

type Walked = { readonly text: string; readonly textsMax: number }
/** The value that begins here, with those of its children that the node names. */
const walk = (walked: Walked, node: PointerNode, begin: number): FoundValue => {
  const { text, textsMax } = walked
  const { names, elements } = node
  if (text[begin] === '{' && names.size > 0) return walkObject(walked, node, begin)
  if (text[begin] === '[' && elements !== undefined) return walkArray(walked, node, elements, begin)
  const { end } = endOfValue(text, begin)
  const leaf = { text, begin, end, names: NO_CHILDREN, selected: NO_CHILDREN }
  const isEntered = text[begin] === '"' && textsMax > 0 && (names.size > 0 || elements !== undefined)
  if (!isEntered) return leaf
  // Opened when a pointer is resolved: of a million members with the same name, only the last one is.
  let inner: FoundValue | null | undefined
  const opened = () => {
    if (inner !== undefined) return inner
    const json = jsonInString(text.slice(begin, end))
    inner = json === null ? null : walk({ text: json, textsMax: textsMax - 1 }, node, 0)
    return inner
  }
  return { ...leaf, opened }
}

/** What the string of an object or array begins with, and base64 of one. Each line end can match in one way only: the text may be long. */
const OBJECT_OR_ARRAY = /^"(?:[ \n\r\t]|\\[nrt])*[{[]/
const BASE64_OF_ONE = /^"[eW][w-z\d+/_-](?:[\w+/-]|\\[nr/])*(?:={1,2}(?:\\[nr])*)?"$/
/** The JSON of the object or array that a string holds, as it is or in base64. */
export const jsonInString = (quoted: string): string | null => {
  if (OBJECT_OR_ARRAY.test(quoted)) return objectOrArrayIn(nameIn(quoted) ?? '')
  if (!BASE64_OF_ONE.test(quoted)) return null
  return objectOrArrayIn(textInBase64(nameIn(quoted) ?? ''))
}
/** The text whose UTF-8 this is in base64, of either alphabet; empty if it is not base64. Browsers have no `Buffer`. */
const textInBase64 = (base64: string): string => {
  try {
    const binary = atob(base64.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = new Uint8Array(binary.length)
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
    return new TextDecoder().decode(bytes)
  } catch {
    return ''
  }
}

const walkObject = (walked: Walked, node: PointerNode, begin: number): FoundValue => {
  const { text } = walked
  const names = new Map<string, FoundValue>()
  const end = eachChild(text, begin, (name, at) => {
    const childNode = node.names.get(name)
    if (childNode === undefined) return endOfValue(text, at).end
    const child = walk(walked, childNode, at)
    // The last of several members with the same name counts.
    names.set(name, child)
    return child.end
  })
  return { text, begin, end, names, selected: NO_CHILDREN }
}

/** A selector searches the first 1,000 elements: as many as one delivery can have activities. */
const SELECTED_AMONG_MAX = 1_000
const walkArray = (walked: Walked, node: PointerNode, elements: PointerNode, begin: number): FoundValue => {
  const { text } = walked
  const names = new Map<string, FoundValue>()
  const selected = new Map<string, FoundValue>()
  const hasSelectors = node.selected.size > 0
  const end = eachChild(text, begin, (index, at) => {
    const isNamed = node.names.has(index)
    const hasMembers = text[at] === '{' || text[at] === '['
    const isSearched = hasSelectors && hasMembers && Number(index) < SELECTED_AMONG_MAX
    if (!isNamed && !isSearched) return endOfValue(text, at).end
    const element = walk(walked, elements, at)
    if (isNamed) names.set(index, element)
    if (isSearched) addSelected(text, element, node.selected, selected)
    return element.end
  })
  return { text, begin, end, names, selected }
}

/** Adds an element under each selector that it is the first to match. */
const addSelected = (
  text: string,
  element: FoundValue,
  valuesByMember: PointerNode['selected'],
  selected: Map<string, FoundValue>,
): void => {
  for (const [member, { begin, end }] of element.names) {
    const values = valuesByMember.get(member)
    const value = values === undefined ? null : scalarIn(text, begin, end)
    if (value === null || !values?.has(value)) continue
    const key = selectedKey(member, value)
    if (!selected.has(key)) selected.set(key, element)
  }
}

/** The longest value of a selector, however it is escaped. */
const SCALAR_LENGTH_MAX = 6 * 255 + 2
/** The text of a string, a number, a boolean or null; null for anything else. */
const scalarIn = (text: string, begin: number, end: number): string | null => {
  if (end - begin > SCALAR_LENGTH_MAX || text[begin] === '{' || text[begin] === '[') return null
  return text[begin] === '"' ? nameIn(text.slice(begin, end)) : text.slice(begin, end)
}
