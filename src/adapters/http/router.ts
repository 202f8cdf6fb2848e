import { isStorable } from '../../shapes/text.ts'
import { percentDecoded } from './requests.ts'

export type Match<Route> = {
  readonly template: string
  /** The routes of the path, by method. */
  readonly routes: ReadonlyMap<string, Route>
  readonly params: Readonly<Record<string, string>>
}

/** Finds the routes of a path among templates such as `/v0/page_groups/{page_group_id}/pages`. The first match wins. */
export const createRouter = <Route extends { readonly method: string; readonly path: string }>(
  routes: readonly Route[],
): ((path: string) => Match<Route> | null) => {
  const byPath = Map.groupBy(routes, ({ path }) => path)
  const all = [...byPath].map(([template, ofPath]) => ({
    template,
    segments: template.split('/').map(segmentOf),
    routes: new Map(ofPath.map((route) => [route.method, route])),
  }))
  const branches = Map.groupBy(all, ({ segments }) => segments.length)
  return (path) => {
    const parts = path.split('/')
    for (const { template, segments, routes } of branches.get(parts.length) ?? [])
      if (fits(segments, parts)) return { template, routes, params: paramsOf(segments, parts) }
    return null
  }
}

/** A segment of a template: a text, or the name of a parameter. */
type Segment = { readonly text: string; readonly name: string | null }
const segmentOf = (text: string): Segment => ({ text, name: text.startsWith('{') ? text.slice(1, -1) : null })

const fits = (segments: readonly Segment[], parts: readonly string[]): boolean => {
  for (let i = 0; i < segments.length; i++) {
    const { text, name } = segments[i] as Segment
    if (name === null ? parts[i] !== text : parts[i] === '') return false
  }
  return true
}

const paramsOf = (segments: readonly Segment[], parts: readonly string[]) => {
  const params: Record<string, string> = {}
  for (let i = 0; i < segments.length; i++) {
    const { name } = segments[i] as Segment
    if (name !== null) params[name] = decode(parts[i] ?? '')
  }
  return params
}

/** A segment that cannot be decoded or stored is no resource's id: unchanged or empty, it matches none. */
const decode = (segment: string): string => {
  if (PLAIN.test(segment)) return segment
  const text = percentDecoded(segment) ?? segment
  return isStorable(text) ? text : ''
}
const PLAIN = /^[\w-]+$/
