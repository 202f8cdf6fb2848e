import { DomainFailure, refuse } from '../../core/failures.ts'
import { type Caller, requireScope } from '../../core/identify.ts'
import { writeJson } from '../../core/write-json.ts'
import { check, type Found } from './check.ts'
import { type OpenRoute, openRoutes, type RawRoute } from './open-routes.ts'
import type { ProblemCode } from './problems.ts'
import { limitRate, type RateLimit } from './rate-limit.ts'
import { type ApiRequest, type ApiResponse, headerOf, splitTarget } from './requests.ts'
import { ALWAYS, type Draft, type Headers, json, problem, responseOf } from './responses.ts'
import { createRouter, type Match } from './router.ts'
import { ROUTES, type Route, type UseCases } from './routes.ts'
import { createShares } from './shares.ts'
import { requestIdIn, type Tracing, traced, traceparentIn } from './trace.ts'
import { createTurns } from './turns.ts'

/** What is told of each request once it is answered. Nothing of it identifies a prospect or a key. */
export type Answered = {
  readonly requestId: string
  readonly method: string
  /** The template of the path; null where none fits. */
  readonly route: string | null
  readonly status: number
  readonly code: ProblemCode | null
  readonly ms: number
  /** Where the request belongs to a trace. */
  readonly traceId?: string
}
type Deps = {
  readonly useCases: UseCases
  readonly identify: (apiKey: string | undefined, address: string | undefined) => Promise<Caller>
  readonly rateLimit: RateLimit | null
  /** Of all tenants, waiting ones too; each may have as many as are left. */
  readonly requestsInFlightMax: number
  /** Of those, how many are worked on; divided in the same way. */
  readonly requestsAtOnceMax: number
  /** Bytes of bodies that are held at a time, from their arrival to the answer; divided in the same way. */
  readonly bodyBytesHeldMax: number
  readonly newRequestId: () => string
  /** Refuses with `unavailable` where the service is not ready. */
  readonly ready: () => Promise<void>
  /** Besides the operations and what every service answers. */
  readonly rawRoutes?: readonly RawRoute[]
  /** Told of each request when it comes. */
  readonly onAsked?: (() => void) | undefined
  readonly onAnswered: (answered: Answered) => void
  readonly onError: (error: unknown, requestId: string, trace: Pick<Answered, 'traceId'>) => void
  readonly tracing?: Tracing | null | undefined
}
type AnyRoute = Route | OpenRoute | RawRoute
/** How long a request waits for its turn. */
const WAIT_MS_MAX = 2_000

export type Api = (request: ApiRequest) => Promise<ApiResponse>

/**
 * The whole HTTP interface as a function: a request in, a response out, no socket needed.
 * The order of checks: path and method, then the key, its rate and its scope, then query, headers and body.
 */
export const createApi = (deps: Deps): Api => {
  const match = createRouter<AnyRoute>([...ROUTES, ...openRoutes(deps.ready), ...(deps.rawRoutes ?? [])])
  const textOf = createTextOf()
  const inFlight = createShares(deps.requestsInFlightMax)
  const turns = createTurns({ atOnceMax: deps.requestsAtOnceMax, waitMsMax: WAIT_MS_MAX })
  const bodyBytes = createShares(deps.bodyBytesHeldMax)

  const answer = async (
    request: ApiRequest,
    matched: Match<AnyRoute> | null,
    { query, traceparent }: Pick<Found, 'query' | 'traceparent'>,
    alwaysSent: Headers,
  ): Promise<Draft> => {
    if (matched === null) return refuse('not_found', 'No operation has this path.')
    if (request.method === 'OPTIONS') return { status: 204, headers: { allow: allowOf(matched) }, body: '' }
    const route = matched.routes.get(request.method === 'HEAD' ? 'GET' : request.method)
    if (route === undefined) {
      const allow = allowOf(matched)
      return refuse('method_not_allowed', `The path has ${allow}.`, { allow })
    }
    if ('raw' in route) return route.raw(request)
    if ('open' in route) return json(200, writeJson(await route.open(matched.params)))

    const caller = await deps.identify(headerOf(request, 'x-api-key'), request.address)
    limitRate(deps.rateLimit, caller, alwaysSent)
    requireScope(caller, route.scope)
    const { tenantId } = caller
    if (!inFlight.take(tenantId, 1)) return tooMany('Too many requests of this tenant are under way.')
    try {
      const { body, replayed } = await run(route, request, {
        tenantId,
        params: matched.params,
        query,
        traceparent,
      })
      if (replayed) alwaysSent['idempotent-replayed'] = 'true'
      return json(route.status, route.method === 'GET' ? textOf(body, route) : JSON.stringify(body))
    } finally {
      inFlight.giveBack(tenantId, 1)
    }
  }

  /** Runs one of the operations, when it is its turn; what comes of its body is held until it is done. */
  const run = async (route: Route, request: ApiRequest, found: Omit<Found, 'holdBytes' | 'turn'>) => {
    const { tenantId } = found
    let bytesHeld = 0
    let isInside = false
    const holdBytes = (bytes: number) => {
      if (!bodyBytes.take(tenantId, bytes)) tooMany('Too large bodies of this tenant are under way.')
      bytesHeld += bytes
    }
    const turn = async () => {
      await turns.enter(tenantId)
      isInside = true
    }
    try {
      return await route.run(deps.useCases, await check(route, request, { ...found, holdBytes, turn }))
    } finally {
      if (isInside) turns.leave(tenantId)
      if (bytesHeld > 0) bodyBytes.giveBack(tenantId, bytesHeld)
    }
  }

  return async (request) => {
    const began = performance.now()
    deps.onAsked?.()
    const requestId = requestIdIn(request) ?? deps.newRequestId()
    const traceparent = deps.tracing?.traceparent() ?? traceparentIn(request)
    const trace = traced(traceparent)
    const { path, query } = splitTarget(request.target)
    const matched = match(path)
    if (matched !== null) deps.tracing?.onRoute(matched.template)
    const headers: Headers = { 'x-request-id': requestId, ...ALWAYS }
    let code: ProblemCode | null = null
    let draft: Draft
    try {
      draft = await answer(request, matched, { query, traceparent }, headers)
    } catch (error) {
      const failure = error instanceof DomainFailure ? error : null
      if (failure === null || failure.cause !== undefined)
        deps.onError(failure?.cause ?? error, requestId, trace)
      code = failure?.kind ?? 'internal_error'
      draft = problem(code, requestId, failure)
    }
    const ms = Math.round((performance.now() - began) * 1_000) / 1_000
    const route = matched?.template ?? null
    deps.onAnswered({ requestId, method: request.method, route, status: draft.status, code, ms, ...trace })
    const response = responseOf(draft, headers)
    return request.method === 'HEAD' ? { ...response, body: '' } : response
  }
}

/** Callers who asked for the same at the same moment share an answer, and get it one after another: it is written once. */
const createTextOf = () => {
  let last: object | undefined
  let text = ''
  return (answer: object, { write = JSON.stringify }: Route): string => {
    if (answer !== last) {
      text = write(answer)
      last = answer
    }
    return text
  }
}

const allowOf = ({ routes }: Match<AnyRoute>): string =>
  [...routes.keys()]
    .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    .join(', ')
    .concat(', OPTIONS')

const tooMany = (detail: string): never => refuse('unavailable', detail, { retryAfterS: 1 })
