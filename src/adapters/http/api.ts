import { callListener } from '../../core/engine/call-listener.ts'
import { DomainFailure, type ProblemCode, refuse } from '../../core/engine/failures.ts'
import { hopsIn } from '../../core/hooks/delivery.ts'
import type { HookReceiver } from '../../core/hooks/receive-hook.ts'
import { type Caller, requireActiveTenant, requireScopes } from '../../core/tenants/identify.ts'
import type { UseCases } from '../../service/operations/operations.ts'
import { shareLoop } from '../loop-share.ts'
import type { OpenTelemetry } from '../open-telemetry.ts'
import { stopwatch } from '../stopwatch.ts'
import { type Admission, turnToRun } from './admission.ts'
import { answerLines } from './answer-lines.ts'
import type { IdentifyCaller } from './callers.ts'
import { createWriteTagged, isKnown } from './entity-tags.ts'
import { preflightOver } from './hook-cors.ts'
import { receiveOver } from './hook-deliveries.ts'
import { shownTo } from './hook-refusals.ts'
import { RECEIVING_ROUTES, type ReceivingRoute } from './hook-routes.ts'
import type { LimitForms } from './limits/form-limit.ts'
import type { RateLimit } from './limits/rate-limit.ts'
import { locationsAmong } from './locations.ts'
import { longStepsOver, weightOfBatch } from './long-requests.ts'
import { createReadBody, parseRequest, requireJson } from './parse-request.ts'
import { problem } from './problems.ts'
import { publicRoutes } from './public-routes.ts'
import { admitted, type RawRoute } from './raw-route.ts'
import { requestIdIn, traceIdIn } from './request-headers.ts'
import {
  ALWAYS,
  type Api,
  type ApiRequest,
  type ApiResponse,
  type Exchange,
  type Headers,
  isOld,
  json,
  type LogFields,
  type RequestLog,
  responseOf,
  splitTarget,
} from './requests.ts'
import type { Answer, Route } from './route.ts'
import { createRouter, type Match } from './router.ts'

type Deps = {
  readonly useCases: UseCases
  readonly receiver: HookReceiver
  /** Whether vendors may send to hooks. */
  readonly hasHooks: boolean
  readonly publicUrl: string | null
  readonly identify: IdentifyCaller
  readonly routes: readonly Route[]
  readonly rateLimit: RateLimit | null
  readonly limitForms: LimitForms
  readonly uploadBytesMax: number
  readonly admission: Admission
  readonly newRequestId: () => string
  /** Refuses `unavailable` while the service is not ready. */
  readonly ready: () => Promise<void>
  /** Routes besides the operations and those of every service. */
  readonly rawRoutes?: readonly RawRoute[]
  readonly onRequest?: (() => void) | undefined
  readonly onAnswered: (answered: RequestLog) => void
  readonly onError: (error: unknown, requestId: string, logFields: LogFields) => void
  readonly tracing?: OpenTelemetry | null | undefined
}
type AnyRoute = Route | RawRoute | ReceivingRoute
type Matched = Match<AnyRoute>
type Params = Matched['params']

export const createApi = (deps: Deps): Api => {
  const { useCases, routes, identify, rateLimit, admission, tracing, rawRoutes = [] } = deps
  const hasRoute = (path: string) => rawRoutes.some((route) => route.path === path)
  const match = createRouter<AnyRoute>([
    ...(deps.hasHooks ? RECEIVING_ROUTES : []),
    ...routes,
    ...publicRoutes(deps.ready, hasRoute, routes),
    ...rawRoutes,
  ])
  const readBody = createReadBody(admission)
  const answerHook = receiveOver({ ...deps, readBody })
  const corsOfHook = preflightOver(deps.receiver)
  const writeTagged = createWriteTagged()
  const locationOf = locationsAmong(routes)

  const api: Api = async (request) => {
    const began = performance.now()
    callListener(() => deps.onRequest?.())
    const requestId = requestIdIn(request) ?? deps.newRequestId()
    const traceId = tracing?.traceId() ?? traceIdIn(request)
    const logFields: LogFields = traceId === undefined ? { requestId } : { requestId, traceId }
    const { path, query } = splitTarget(request.target)
    const matched = match(path)
    // Set before anything that takes time: the span of a sender that leaves early must not contain the token of a hook.
    if (matched !== null) tracing?.onRoute(matched.template)
    const headers: Headers = { 'x-request-id': requestId, ...ALWAYS }
    const exchange: Exchange = { request, requestId, query, headers, logFields }
    let code: ProblemCode | null = null
    let draft: ApiResponse
    try {
      draft = await respond(exchange, matched)
    } catch (why) {
      code = codeOf(why)
      if (isCrowded(why)) logFields.admission = 'refused'
      draft = shownTo(request, matched, refusalOf(exchange, why))
    }
    const ms = Math.round((performance.now() - began) * 1_000) / 1_000
    const route = matched?.template ?? null
    const { method } = request
    callListener(() =>
      deps.onAnswered({ requestId, method, route, status: draft.status, code, ms, ...logFields }),
    )
    const response = responseOf(draft, headers)
    return method === 'HEAD' ? { ...response, body: '' } : response
  }

  const respond = (exchange: Exchange, matched: Matched | null): Promise<ApiResponse> => {
    if (matched === null) return refuse('not_found', 'Unknown path.')
    const { method } = exchange.request
    if (method === 'OPTIONS') return answerOptions(exchange.request, matched)
    const route = matched.routes.get(method === 'HEAD' ? 'GET' : method)
    if (route === undefined) return refuseMethod(methodsOf(matched))
    if ('raw' in route) return answerRaw(exchange, matched, route)
    if ('receives' in route) return answerHook(exchange, matched.params)
    return answerOperation(exchange, matched.params, route)
  }

  const answerOptions = async (request: ApiRequest, matched: Matched): Promise<ApiResponse> => {
    const cors = await corsOfHook(request, matched)
    return { status: 204, headers: { allow: methodsOf(matched), ...cors }, body: '' }
  }

  const answerRaw = async (exchange: Exchange, matched: Matched, route: RawRoute): Promise<ApiResponse> => {
    const { request, logFields } = exchange
    const context = { api, admission, readBody, logFields }
    try {
      return await admitted(admission, route, () => route.raw(request, matched.params, context))
    } finally {
      // Set again: if the route called this API, that call has set another route.
      tracing?.onRoute(matched.template)
    }
  }

  /** Identifies the caller, admits the request, reads and parses it, runs the use case, and writes its answer. */
  const answerOperation = (exchange: Exchange, params: Params, route: Route): Promise<ApiResponse> => {
    const caller = identify(exchange.request)
    return caller instanceof Promise
      ? caller.then((found) => answerCaller(exchange, found, params, route))
      : answerCaller(exchange, caller, params, route)
  }

  /** Waits only where it must: every request passes here, and most find their key, their turn and the loop at once. */
  const answerCaller = async (
    exchange: Exchange,
    caller: Caller,
    params: Params,
    route: Route,
  ): Promise<ApiResponse> => {
    const publishedOnly = admit(exchange, caller, route)
    const { request, query, logFields } = exchange
    const { tenantId, apiKeyId, scopes } = caller
    const isShared = route.method === 'GET' && !route.isReadOneByOne
    const asksFor = isShared ? request.target : undefined
    const slot = admission.arrive(tenantId, route.answerBytesMax, asksFor)
    try {
      const askedMs = stopwatch()
      let bytes = route.body && (await readBody(request, slot, bytesMaxOf(route, request), requireJson))
      if (bytes !== undefined) logFields.bodyBytes = bytes.length
      if (bytes !== undefined && route.item !== undefined) admission.weigh(slot, weightOfBatch(bytes.length))
      const turn = turnToRun(admission, slot, logFields)
      if (turn !== undefined) await turn
      const mayHaveWaited = route.body !== undefined || turn !== undefined
      // While the request waited, the key may have been revoked or the tenant deleted.
      if (mayHaveWaited && isOld(askedMs)) await requireCaller(request)
      const checked = parseRequest(route, request, {
        tenantId,
        apiKeyId,
        scopes,
        params,
        publishedOnly,
        query,
        bytes,
      })
      // Frees the bytes while the use case runs: it uses only the parsed body.
      bytes = undefined
      const answer = await route.run(useCases, checked, () => longSteps({ exchange, caller, slot, askedMs }))
      if (route.lines) return writeLines(exchange, tenantId, answer)
      const turnToWrite = shareLoop(tenantId, true)
      if (turnToWrite !== undefined) await turnToWrite
      return write(exchange, tenantId, route, answer)
    } finally {
      admission.leave(slot)
    }
  }

  /**
   * Refuses a caller that is over its rate limit, suspended, or lacks a scope of the route; and a webhook in a loop.
   * Returns whether the caller reads only what is published.
   */
  const admit = ({ request, headers, logFields }: Exchange, caller: Caller, route: Route): boolean => {
    logFields.tenantId = caller.tenantId
    logFields.apiKeyId = caller.apiKeyId
    rateLimit?.(caller, headers)
    requireActiveTenant(caller)
    const { scope, method, hopsMax = 0 } = route
    const requiredScopes = typeof scope === 'string' ? [scope] : (scope ?? [])
    const publishedOnly = requireScopes(caller, requiredScopes, route.readersToo)
    if (method !== 'GET' && hopsIn(request) > hopsMax) refuse('loop_detected', LOOP)
    return publishedOnly
  }

  const requireCaller = async (request: ApiRequest) => requireActiveTenant(await identify(request))

  const writeLines = (exchange: Exchange, tenantId: string, { body }: Answer): ApiResponse =>
    answerLines(body as AsyncIterable<object>, {
      tenantId,
      admission,
      requireCaller: () => requireCaller(exchange.request),
      onError: (why) => reportError(exchange, Object(why).cause ?? why),
    })

  const write = (exchange: Exchange, tenantId: string, route: Route, answer: Answer): ApiResponse => {
    const { request, headers, logFields } = exchange
    const { body, status = route.status, revision } = answer
    if (answer.logged) logFields.activities = answer.logged
    if (answer.replayed) headers['idempotent-replayed'] = 'true'
    Object.assign(headers, answer.headers)
    if (body === undefined) return { status: 204, headers: {}, body: '', tenantId }
    const location = status === 201 ? locationOf(route, body) : undefined
    if (location !== undefined) headers['location'] = `${request.basePath ?? ''}${location}`
    const isRead = route.method === 'GET'
    if (!isRead && revision === undefined) return json(status, `${route.write(body)}\n`, tenantId)
    const { text, etag, length } = writeTagged(answer, route)
    headers['etag'] = etag
    if (isRead) headers['cache-control'] = 'private, no-cache'
    if (isRead && isKnown(request, etag)) return { status: 304, headers: {}, body: '', tenantId }
    headers['content-length'] = length
    return json(status, text, tenantId)
  }

  /** The problem for an error. Reports it if it is a bug, or a failure with a cause, such as a lost database. */
  const refusalOf = (exchange: Exchange, why: unknown): ApiResponse => {
    const failure = why instanceof DomainFailure ? why : null
    if (failure === null || failure.cause !== undefined) reportError(exchange, failure?.cause ?? why)
    return problem(codeOf(why), exchange.requestId, failure, exchange.request.basePath)
  }

  const reportError = ({ requestId, logFields }: Exchange, error: unknown) =>
    callListener(() => deps.onError(error, requestId, logFields))

  const longSteps = longStepsOver({ admission, rateLimit, requireCaller, refusalOf })

  return api
}

const isCrowded = (why: unknown): boolean => why instanceof DomainFailure && why.internal.isCrowded === true

const codeOf = (why: unknown): ProblemCode => (why instanceof DomainFailure ? why.kind : 'internal_error')

/** An activity leads to webhooks; if these led to changes that lead to webhooks again, that would never end. */
const LOOP =
  'A webhook sent this request. It may log one activity, unless another webhook led to it, and change nothing else.'

const bytesMaxOf = ({ item }: Route, { body }: ApiRequest): number => {
  const { bytesMax = 0, batchBytesMax = bytesMax } = body ?? {}
  return item === undefined ? bytesMax : batchBytesMax
}

const methodsOf = ({ routes }: Matched): string =>
  [...routes.keys(), 'OPTIONS'].join(', ').replace('GET', 'GET, HEAD')

const refuseMethod = (allow: string): never =>
  refuse('method_not_allowed', `Method not allowed. Allowed methods: ${allow}.`, { allow })
