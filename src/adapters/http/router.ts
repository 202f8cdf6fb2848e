import { isStorable } from '../../shapes/text.ts'

export type Match<Route> = {
  /** The path as the routes have it. */
  readonly template: string
  /** The routes of the path, by method. */
  readonly routes: ReadonlyMap<string, Route>
  readonly params: Readonly<Record<string, string>>
}
type Branch<Route> = {
  readonly children: Map<string, Branch<Route>>
  param: { readonly name: string; readonly branch: Branch<Route> } | null
  readonly routes: Map<string, Route>
  template: string
}

/** Finds the routes of a path among templates such as `/v0/page_groups/{page_group_id}/pages`. */
export const createRouter = <Route extends { readonly method: string; readonly path: string }>(
  routes: readonly Route[],
): ((path: string) => Match<Route> | null) => {
  const root = branch<Route>()
  for (const route of routes) {
    let at = root
    for (const segment of route.path.split('/').slice(1)) at = grow(at, segment)
    at.routes.set(route.method, route)
    at.template = route.path
  }

  return (path) => {
    // What stands before the first slash would be passed over: `*/healthz` is no path.
    if (!path.startsWith('/')) return null
    let at: Branch<Route> = root
    const params: Record<string, string> = {}
    for (const segment of path.split('/').slice(1)) {
      const child = at.children.get(segment)
      if (child !== undefined) at = child
      else if (at.param !== null && segment !== '') {
        params[at.param.name] = decode(segment)
        at = at.param.branch
      } else return null
    }
    return at.routes.size === 0 ? null : { template: at.template, routes: at.routes, params }
  }
}

const branch = <Route>(): Branch<Route> => ({
  children: new Map(),
  param: null,
  routes: new Map(),
  template: '',
})

const grow = <Route>(at: Branch<Route>, segment: string): Branch<Route> => {
  if (segment.startsWith('{')) {
    at.param ??= { name: segment.slice(1, -1), branch: branch() }
    return at.param.branch
  }
  const child = at.children.get(segment) ?? branch()
  at.children.set(segment, child)
  return child
}

/** What cannot be decoded or stored is the id of nothing: as it stands, or empty, it finds nothing. */
const decode = (segment: string): string => {
  const text = segment.includes('%') ? decoded(segment) : segment
  return isStorable(text) ? text : ''
}

const decoded = (segment: string): string => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
