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
  /** In a template, the name of the parameter that leads here. */
  readonly param: string
  readonly routes: Map<string, Route>
  template: string
}
/** The child for any segment that is no child's name. Paths have no segment with a slash. */
const ANY = '/'

/** Finds the routes of a path among templates such as `/v0/page_groups/{page_group_id}/pages`. */
export const createRouter = <Route extends { readonly method: string; readonly path: string }>(
  routes: readonly Route[],
): ((path: string) => Match<Route> | null) => {
  const branch = (param = ''): Branch<Route> => ({
    children: new Map(),
    param,
    routes: new Map(),
    template: '',
  })
  const root = branch()
  for (const route of routes) {
    let at = root
    for (const segment of route.path.split('/').slice(1)) {
      const [, param] = /^\{(.*)\}$/.exec(segment) ?? []
      const name = param === undefined ? segment : ANY
      const child = at.children.get(name) ?? branch(param)
      at.children.set(name, child)
      at = child
    }
    at.routes.set(route.method, route)
    at.template = route.path
  }

  return (path) => {
    // What stands before the first slash would be passed over: `*/healthz` is no path.
    if (!path.startsWith('/')) return null
    let at = root
    const params: Record<string, string> = {}
    for (const segment of path.split('/').slice(1)) {
      const child = at.children.get(segment) ?? (segment === '' ? undefined : at.children.get(ANY))
      if (child === undefined) return null
      if (child.param !== '') params[child.param] = decode(segment)
      at = child
    }
    return at.routes.size === 0 ? null : { template: at.template, routes: at.routes, params }
  }
}

/** A segment that cannot be decoded or stored is no resource's id: unchanged or empty, it matches none. */
const decode = (segment: string): string => {
  let text = segment
  try {
    if (segment.includes('%')) text = decodeURIComponent(segment)
  } catch {}
  return isStorable(text) ? text : ''
}
