import { refuse } from '../../core/failures.ts'
import openapi from './openapi.json' with { type: 'json' }
import { PROBLEMS } from './problems.ts'
import type { ApiRequest, ApiResponse } from './requests.ts'

/** A route that needs no key. */
export type OpenRoute = {
  readonly method: 'GET'
  readonly path: string
  readonly open: (params: Readonly<Record<string, string>>) => Promise<object>
}

/** One that needs no key either, and answers something else than JSON. */
export type RawRoute = {
  readonly method: 'GET'
  readonly path: string
  readonly raw: (request: ApiRequest) => Promise<ApiResponse>
}

/** `ready` refuses with `unavailable` where the service is not ready to answer. */
export const openRoutes = (ready: () => Promise<void>): readonly OpenRoute[] => {
  const document = { rawJson: JSON.stringify(openapi) }
  return [
    { method: 'GET', path: '/healthz', open: async () => ({ status: 'ok' }) },
    { method: 'GET', path: '/readyz', open: () => ready().then(() => ({ status: 'ready' })) },
    { method: 'GET', path: '/openapi.json', open: async () => document },
    { method: 'GET', path: '/problems/{code}', open: async ({ code = '' }) => explained(code) },
  ]
}

const explained = (code: string): object => {
  if (!Object.hasOwn(PROBLEMS, code)) return refuse('not_found', 'There is no problem of this name.')
  const { status, title, explanation } = PROBLEMS[code as keyof typeof PROBLEMS]
  return { type: `/problems/${code}`, code, title, status, explanation }
}
