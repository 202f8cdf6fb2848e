import { type Asset, assetOf } from './assets.ts'
import { type RawRoute, rawRoute } from './raw-route.ts'
import { JSON_HEADERS, jsonLine } from './requests.ts'
import type { Route } from './route.ts'

/** The OpenAPI document, with the operations that this service offers. */
export const openapiRoute = (routes: readonly Route[]): RawRoute => {
  let cached: { readonly base: string; readonly asset: Promise<Asset> } | undefined
  return rawRoute('/openapi.json', async (request) => {
    const { basePath: base = '' } = request
    // Cached for one base path only: a framework may take it from the request.
    if (cached?.base !== base) cached = { base, asset: openapiUnder(base || '/', routes) }
    return (await cached.asset)(request)
  })
}

/** Loaded at the first request: it takes 5 MB. */
const openapiUnder = async (url: string, routes: readonly Route[]): Promise<Asset> => {
  const { default: openapi } = await import('./openapi.json', { with: { type: 'json' } })
  const servers = openapi.servers.map((server) => ({ ...server, url }))
  return assetOf(JSON_HEADERS, jsonLine({ ...openapi, servers, paths: pathsOf(openapi.paths, routes) }))
}

/** The paths of these routes. */
const pathsOf = (paths: Readonly<Record<string, object>>, routes: readonly Route[]) => {
  const offered = new Set(routes.map(({ operationId }) => operationId as string))
  const ofPath = Object.entries(paths).map(([path, methods]) => {
    const offeredMethods = Object.entries(methods).filter(([, { operationId }]) => offered.has(operationId))
    return [path, Object.fromEntries(offeredMethods)] as const
  })
  return Object.fromEntries(ofPath.filter(([, methods]) => Object.keys(methods).length > 0))
}
