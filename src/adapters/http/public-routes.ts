import { refuse } from '../../core/engine/failures.ts'
import { gather } from '../../core/engine/gather.ts'
import { type Asset, assetOf } from './docs/assets.ts'
import { PROBLEMS } from './problems.ts'
import { type ApiRequest, type ApiResponse, JSON_HEADERS, json, jsonLine } from './requests.ts'
import type { Match } from './router.ts'

/** A route that needs no key and answers anything. */
export type RawRoute = {
  readonly method: 'GET'
  readonly path: string
  readonly raw: (request: ApiRequest, params: Match<never>['params']) => Promise<ApiResponse>
  /** Answered even if the service is overloaded. */
  readonly isProbe?: true
}
export const rawRoute = (path: string, raw: RawRoute['raw']): RawRoute => ({ method: 'GET', path, raw })
const probe = (path: string, raw: RawRoute['raw']): RawRoute => ({ ...rawRoute(path, raw), isProbe: true })

/** `ready` refuses `unavailable` while the service cannot answer. */
export const publicRoutes = (ready: () => Promise<void>, hasDocs: boolean): readonly RawRoute[] => {
  let kept: { readonly base: string; readonly asset: Promise<Asset> } | undefined
  return [
    rawRoute('/', async ({ basePath: base = '' }) => {
      const docs = hasDocs ? `${base}/docs` : undefined
      const links = { docs, openapi: `${base}/openapi.json`, health: `${base}/healthz` }
      return json(200, jsonLine({ name: 'prospect-pages', ...links }))
    }),
    probe('/healthz', async () => json(200, '{"status":"ok"}\n')),
    probe('/readyz', () => ready().then(() => json(200, '{"status":"ready"}\n'))),
    rawRoute('/openapi.json', async (request) => {
      const { basePath: base = '' } = request
      // Of one mount alone: a framework may take its path from the request.
      if (kept?.base !== base) kept = { base, asset: openapiUnder(base || '/') }
      return (await kept.asset)(request)
    }),
    rawRoute('/problems/{code}', async ({ basePath }, { code }) => json(200, explanationOf(code, basePath))),
  ]
}

/** Loaded when it is first asked for: it takes 5 MB. */
const openapiUnder = async (url: string): Promise<Asset> => {
  const { default: openapi } = await import('./openapi.json', { with: { type: 'json' } })
  return assetOf(
    JSON_HEADERS,
    jsonLine({ ...openapi, servers: openapi.servers.map((server) => ({ ...server, url })) }),
  )
}

const explanationOf = (code = '', basePath = ''): string => {
  if (!Object.hasOwn(PROBLEMS, code)) return refuse('not_found', 'Unknown problem code.')
  const { status, title, explanation } = PROBLEMS[code as keyof typeof PROBLEMS]
  return jsonLine({ type: `${basePath}/problems/${code}`, code, title, status, explanation })
}

/** Metrics in the text format of Prometheus. Needs no key: the network decides who may reach it. One scrape at a time. */
export const metricsRoute = (text: () => Promise<string>): RawRoute => {
  const shared = gather(async () => [await text()], {
    listLengthMax: 1,
    listsInFlightMax: 1,
    dedupeKey: () => 'metrics',
  })
  return rawRoute('/metrics', async () => ({
    status: 200,
    headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
    body: await shared(null),
  }))
}
