import { setTimeout as pause } from 'node:timers/promises'
import { DESCRIPTION } from '../../config/version.ts'
import { refuse } from '../../core/engine/failures.ts'
import { shareLoop } from '../loop-share.ts'
import { sharedCall } from '../shared-call.ts'
import type { Admission } from './admission.ts'
import { type Asset, assetOf } from './assets.ts'
import { html, pageFor, takesHtml } from './html.ts'
import { llmsText } from './llms.ts'
import type { createReadBody } from './parse-request.ts'
import { PROBLEMS } from './problems.ts'
import type { Api, ApiRequest, ApiResponse, LogFields } from './requests.ts'
import { JSON_HEADERS, json, jsonLine } from './requests.ts'
import type { Route } from './route.ts'
import type { Match } from './router.ts'

/** The parts of the API that a route in it may use. */
type Context = {
  readonly api: Api
  readonly admission: Admission
  readonly readBody: ReturnType<typeof createReadBody>
  readonly logFields: LogFields
}
/** A route without an operation. It may return any response and needs no key. */
export type RawRoute = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly raw: (
    request: ApiRequest,
    params: Match<never>['params'],
    context: Context,
  ) => Promise<ApiResponse>
  /** Takes no slot in the admission: it answers even under overload, or its calls take slots. */
  readonly isFree?: true
}
export const rawRoute = (path: string, raw: RawRoute['raw']): RawRoute => ({ method: 'GET', path, raw })
const probe = (path: string, raw: RawRoute['raw']): RawRoute => ({ ...rawRoute(path, raw), isFree: true })

/** All routes without a key count as one tenant. They take a slot but no turn: requests share the work behind them. */
export const admitted = async (
  admission: Admission,
  { isFree }: RawRoute,
  work: () => Promise<ApiResponse>,
): Promise<ApiResponse> => {
  if (isFree) return work()
  const slot = admission.arrive('')
  try {
    await shareLoop('')
    return await work()
  } finally {
    admission.leave(slot)
  }
}

/** `ready` refuses `unavailable` while the service cannot answer. */
export const publicRoutes = (
  ready: () => Promise<void>,
  hasRoute: (path: string) => boolean,
  routes: readonly Route[],
): readonly RawRoute[] => {
  let cached: { readonly base: string; readonly asset: Promise<Asset> } | undefined
  return [
    rawRoute('/', async (request) => {
      const { basePath: base = '' } = request
      const links = {
        console: hasRoute('/console/') ? `${base}/console/` : undefined,
        docs: hasRoute('/docs') ? `${base}/docs` : undefined,
        openapi: `${base}/openapi.json`,
        health: `${base}/healthz`,
      }
      return forPeople(request, { name: 'prospect-pages', description: DESCRIPTION, ...links }, () =>
        welcome(links),
      )
    }),
    probe('/healthz', async () => json(200, '{"status":"ok"}\n')),
    probe('/readyz', () => ready().then(() => json(200, '{"status":"ready"}\n'))),
    rawRoute('/llms.txt', async ({ basePath = '' }) => ({
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: llmsText(basePath),
    })),
    rawRoute('/openapi.json', async (request) => {
      const { basePath: base = '' } = request
      // Cached for one base path only: a framework may take it from the request.
      if (cached?.base !== base) cached = { base, asset: openapiUnder(base || '/', routes) }
      return (await cached.asset)(request)
    }),
    rawRoute('/problems/{code}', async (request, { code }) => {
      const problem = explanationOf(code, request.basePath)
      const { title, status, explanation } = problem
      return forPeople(request, problem, () =>
        pageFor(
          title,
          html`<p>${explanation}</p><p>Code <code>${problem.code}</code>, status ${String(status)}.</p>`,
        ),
      )
    }),
  ]
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

const explanationOf = (code = '', basePath = '') => {
  if (!Object.hasOwn(PROBLEMS, code)) return refuse('not_found', 'Unknown problem code.')
  const { status, title, explanation } = PROBLEMS[code as keyof typeof PROBLEMS]
  return { type: `${basePath}/problems/${code}`, code, title, status, explanation }
}

/** A page for browsers, JSON for all other clients. */
const forPeople = (request: ApiRequest, value: object, page: () => ApiResponse): ApiResponse => {
  const response = takesHtml(request) ? page() : json(200, jsonLine(value))
  return { ...response, headers: { ...response.headers, vary: 'accept' } }
}

const LINKS = {
  console: ['Console', 'what arrives, from whom, what is published, and what needs a hand'],
  docs: ['API reference', 'every operation, to read and to try'],
  openapi: ['openapi.json', 'the OpenAPI document, for programs'],
  health: ['Health', 'whether the service runs'],
} as const
const welcome = (links: { readonly [Name in keyof typeof LINKS]: string | undefined }): ApiResponse => {
  const rows = Object.entries(LINKS).map(([name, [title, text]]) => {
    const href = links[name as keyof typeof LINKS]
    return href === undefined ? html`` : html`<li><a href="${href}">${title}</a>: ${text}.</li>`
  })
  return pageFor('prospect-pages', html`<p>${DESCRIPTION}</p><ul>${rows}</ul>`)
}

/** How long the next scrape waits: a multiple of the time that the last one took, and at most a second. */
const SCRAPE_REST_TIMES = 9
const SCRAPE_REST_MS_MAX = 1_000

/**
 * Metrics in the text format of Prometheus. Needs no key: the network decides who may reach it. One scrape at a time, and
 * however many callers there are, scrapes take a tenth of the time.
 */
export const metricsRoute = (text: () => Promise<string>): RawRoute => {
  let nextMs = 0
  const scrape = sharedCall(async () => {
    const restMs = nextMs - performance.now()
    if (restMs > 0) await pause(restMs)
    const beganMs = performance.now()
    const scraped = await text()
    const endedMs = performance.now()
    nextMs = endedMs + Math.min(SCRAPE_REST_TIMES * (endedMs - beganMs), SCRAPE_REST_MS_MAX)
    return scraped
  })
  return rawRoute('/metrics', async () => ({
    status: 200,
    headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
    body: await scrape(),
  }))
}
