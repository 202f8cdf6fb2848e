import { refuse } from '../../core/failures.ts'
import openapi from './openapi.json' with { type: 'json' }
import { PROBLEMS } from './problems.ts'
import { type ApiRequest, type ApiResponse, json, jsonLine } from './requests.ts'
import type { Match } from './router.ts'

/** A route that needs no key and answers anything. */
export type RawRoute = {
  readonly method: 'GET'
  readonly path: string
  readonly raw: (request: ApiRequest, params: Match<never>['params']) => Promise<ApiResponse>
}
const route = (path: string, raw: RawRoute['raw']): RawRoute => ({ method: 'GET', path, raw })

/** `ready` refuses `unavailable` while the service cannot answer. */
export const publicRoutes = (ready: () => Promise<void>, hasDocs: boolean): readonly RawRoute[] => {
  const document = jsonLine(openapi)
  const links = { ...(hasDocs && { docs: '/docs' }), openapi: '/openapi.json', health: '/healthz' }
  return [
    route('/', async () => json(200, jsonLine({ name: 'prospect-pages', ...links }))),
    route('/healthz', async () => json(200, '{"status":"ok"}\n')),
    route('/readyz', () => ready().then(() => json(200, '{"status":"ready"}\n'))),
    route('/openapi.json', async () => json(200, document)),
    route('/problems/{code}', async (_request, { code = '' }) => json(200, explanationOf(code))),
  ]
}

const explanationOf = (code: string): string => {
  if (!Object.hasOwn(PROBLEMS, code)) return refuse('not_found', 'Unknown problem code.')
  const { status, title, explanation } = PROBLEMS[code as keyof typeof PROBLEMS]
  return jsonLine({ type: `/problems/${code}`, code, title, status, explanation })
}

/** Metrics in the text format of Prometheus. Needs no key: the network decides who may reach it. */
export const metricsRoute = (text: () => Promise<string>): RawRoute =>
  route('/metrics', async () => ({
    status: 200,
    headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
    body: await text(),
  }))
