import { eachChild, endOfValue, skipBlanks } from './raw-json.ts'

/** JSON Pointers (RFC 6901) as a tree, so that one walk over a text finds the values of all of them. */
export type PointerTree = {
  readonly children: Map<string, PointerTree>
  /** The pointer that ends here, if one does. */
  pointer?: string
}

export const pointerTree = (pointers: readonly string[]): PointerTree => {
  const root: PointerTree = { children: new Map() }
  for (const pointer of pointers) {
    let node = root
    for (const part of pointer.split('/').slice(1)) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
      const child = node.children.get(name) ?? { children: new Map() }
      node.children.set(name, child)
      node = child
    }
    node.pointer = pointer
  }
  return root
}

/**
 * The exact texts of the values that pointers lead to, found in one pass. Nothing is parsed, so the cost depends on the
 * length of the text, not on its content or the depth of the tree. The text must be well-formed JSON.
 */
export const findInJson = (text: string, tree: PointerTree): ReadonlyMap<string, string> => {
  const found: Places = []
  walk(text, tree, skipBlanks(text, 0), found)
  return new Map(found.map(([pointer, begin, end]) => [pointer, text.slice(begin, end)]))
}

type Places = [pointer: string, begin: number, end: number][]

/** Adds the values found in the value that begins here, and returns its end. */
const walk = (text: string, { children, pointer }: PointerTree, at: number, found: Places): number => {
  // The last of several members with the same name counts.
  const within = new Map<PointerTree, Places>()
  const visit = (name: string, begin: number): number => {
    const child = children.get(name)
    if (child === undefined) return endOfValue(text, begin).end
    const places: Places = []
    within.set(child, places)
    return walk(text, child, begin, places)
  }
  const isEntered =
    text[at] === '{' ? children.size > 0 : [...children.keys()].some((name) => /^\d/.test(name))
  const end = isEntered ? eachChild(text, at, visit) : endOfValue(text, at).end
  for (const places of within.values()) found.push(...places)
  if (pointer !== undefined) found.push([pointer, at, end])
  return end
}
