import { refuse } from '../../core/failures.ts'
import openapi from './openapi.json' with { type: 'json' }
import { PROBLEMS } from './problems.ts'
import type { ApiRequest, ApiResponse } from './requests.ts'

/** A route that needs no key and answers JSON. */
export type JsonRoute = {
  readonly method: 'GET'
  readonly path: string
  readonly json: (params: Readonly<Record<string, string>>) => Promise<object>
}

/** A route that needs no key and answers anything. */
export type RawRoute = {
  readonly method: 'GET'
  readonly path: string
  readonly raw: (request: ApiRequest) => Promise<ApiResponse>
}

/** `ready` refuses `unavailable` while the service cannot answer. */
export const publicRoutes = (ready: () => Promise<void>): readonly JsonRoute[] => {
  const document = { rawJson: JSON.stringify(openapi) }
  return [
    { method: 'GET', path: '/healthz', json: async () => ({ status: 'ok' }) },
    { method: 'GET', path: '/readyz', json: () => ready().then(() => ({ status: 'ready' })) },
    { method: 'GET', path: '/openapi.json', json: async () => document },
    { method: 'GET', path: '/problems/{code}', json: async ({ code = '' }) => explanationOf(code) },
  ]
}

const explanationOf = (code: string): object => {
  if (!Object.hasOwn(PROBLEMS, code)) return refuse('not_found', 'Unknown problem code.')
  const { status, title, explanation } = PROBLEMS[code as keyof typeof PROBLEMS]
  return { type: `/problems/${code}`, code, title, status, explanation }
}

/** Metrics in the text format of Prometheus. Needs no key: the network decides who may reach it. */
export const metricsRoute = (text: () => Promise<string>): RawRoute => ({
  method: 'GET',
  path: '/metrics',
  raw: async () => ({
    status: 200,
    headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
    body: await text(),
  }),
})
