import { eachChild, endOfValue, skipBlanks } from './raw-json.ts'

/** JSON Pointers (RFC 6901) as a tree, so that one walk over a text finds what all of them lead to. */
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
 * The exact texts of the values that pointers lead to. Nothing is parsed, so what it costs depends on the length of the
 * text and on how deep the tree is, not on what is in the text. The text must be well-formed JSON.
 */
export const findInJson = (
  text: string,
  tree: PointerTree,
  at = skipBlanks(text, 0),
  found = new Map<string, string>(),
): ReadonlyMap<string, string> => {
  if (tree.pointer !== undefined) found.set(tree.pointer, text.slice(at, endOfValue(text, at).end))
  if (tree.children.size === 0) return found
  // Of members with the same name the last one counts.
  const places = new Map<PointerTree, number>()
  eachChild(text, at, (name, begin) => {
    const child = tree.children.get(name)
    if (child !== undefined) places.set(child, begin)
  })
  for (const [child, begin] of places) findInJson(text, child, begin, found)
  return found
}
