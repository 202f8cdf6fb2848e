import { camelCase } from '../../json/case.ts'
import type { Route } from './route.ts'

/** The text before an id in a path, and the member of the resource that has the id. */
type Step = { readonly before: string; readonly id: string }

/**
 * Returns the path at which a created resource is read, by the route and the resource: the header `Location`. Undefined if
 * the route creates nothing that one of these routes reads.
 */
export const locationsAmong = (routes: readonly Route[]) => {
  const stepsOf = new Map<Route, readonly Step[]>()
  for (const route of routes.filter(({ status }) => status === 201)) {
    const reading = routes.find(({ method, path }) => method === 'GET' && isDirectlyBelow(path, route.path))
    if (reading !== undefined) stepsOf.set(route, stepsIn(reading.path))
  }
  return (route: Route, resource: object): string | undefined =>
    stepsOf
      .get(route)
      ?.map(({ before, id }) => `${before}${(resource as Readonly<Record<string, unknown>>)[id]}`)
      .join('')
}

/** Whether a path is that of a list, followed by one id. */
const isDirectlyBelow = (path: string, listPath: string): boolean =>
  path.startsWith(`${listPath}/{`) && path.lastIndexOf('/') === listPath.length

const stepsIn = (path: string): readonly Step[] =>
  [...path.matchAll(/([^{]*)\{(\w+)\}/g)].map(([, before = '', name = '']) => ({
    before,
    id: camelCase(name),
  }))
