import { DomainFailure, type ProblemCode, refuse } from '../../core/engine/failures.ts'
import { callHook } from '../../core/engine/outcome.ts'
import type { HookReceiver } from '../../core/hooks/receive-hook.ts'
import { requireActiveTenant, requireScope } from '../../core/tenants/identify.ts'
import type { UseCases } from '../../service/use-cases.ts'
import type { OpenTelemetry } from '../open-telemetry.ts'
import { stopwatch } from '../stopwatch.ts'
import type { Admission } from './admission.ts'
import { answerLines } from './answer-lines.ts'
import type { IdentifyCaller } from './callers.ts'
import { createWriteTagged, isKnown } from './entity-tags.ts'
import { preflightOver, RECEIVING_ROUTES, type ReceivingRoute, receiveOver, shownTo } from './hook-routes.ts'
import type { LimitForms } from './limits/form-limit.ts'
import type { RateLimit } from './limits/rate-limit.ts'
import { longSteps } from './long-requests.ts'
import { bodiesOver, parseRequest, requireJson } from './parse-request.ts'
import { problem } from './problems.ts'
import { admitted, publicRoutes, type RawRoute } from './public-routes.ts'
import {
  ALWAYS,
  type Api,
  type ApiRequest,
  type ApiResponse,
  type Headers,
  isOld,
  json,
  type LogFields,
  type RequestLog,
  requestIdIn,
  responseOf,
  splitTarget,
  traceIdIn,
} from './requests.ts'
import type { Route } from './route.ts'
import { createRouter, type Match } from './router.ts'
import { shareLoop } from './share-loop.ts'

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

export const createApi = (deps: Deps): Api => {
  const { useCases, routes, identify, rateLimit, admission, tracing } = deps
  const { onAnswered, rawRoutes = [] } = deps
  const has = (path: string) => rawRoutes.some((route) => route.path === path)
  const match = createRouter<AnyRoute>([
    ...(deps.hasHooks ? RECEIVING_ROUTES : []),
    ...routes,
    ...publicRoutes(deps.ready, has, routes),
    ...rawRoutes,
  ])
  const writeTagged = createWriteTagged()

  /** The steps of a request, in order. Headers that a step sets are part of every answer from then on. */
  const respond = async (
    request: ApiRequest,
    matched: Match<AnyRoute> | null,
    query: string,
    headers: Headers,
    logFields: LogFields,
    refusalOf: (why: unknown) => ApiResponse,
  ): Promise<ApiResponse> => {
    if (matched === null) return refuse('not_found', 'Unknown path.')
    if (request.method === 'OPTIONS') {
      const cors = await preflight(request, matched)
      return { status: 204, headers: { allow: methodsOf(matched), ...cors }, body: '' }
    }
    const route = matched.routes.get(request.method === 'HEAD' ? 'GET' : request.method)
    if (route === undefined) return refuseMethod(methodsOf(matched))
    const { params } = matched
    if ('raw' in route) {
      const answer = admitted(admission, route, () =>
        route.raw(request, params, { api, admission, readBody, logFields }),
      )
      // Set again at the end: a call that the route made to this API has named another route.
      return answer.finally(() => tracing?.onRoute(matched.template))
    }
    if ('receives' in route) return receive(request, params, query, headers, logFields)

    const identified = identify(request)
    const caller = identified instanceof Promise ? await identified : identified
    const { tenantId, apiKeyId } = caller
    logFields.tenantId = tenantId
    logFields.apiKeyId = apiKeyId
    rateLimit?.(caller, headers)
    requireActiveTenant(caller)
    const { scope } = route
    for (const one of typeof scope === 'string' ? [scope] : (scope ?? [])) requireScope(caller, one)
    const requireCaller = async () => requireActiveTenant(await identify(request))
    const place = { slot: admission.arrive(tenantId) }
    try {
      const bytesMax = request.body?.[route.item ? 'batchBytesMax' : 'bytesMax']
      const askedMs = stopwatch()
      let bytes = route.body && (await readBody(request, place.slot, bytesMax, requireJson))
      if (bytes !== undefined) logFields.bodyBytes = bytes.length
      const turn = admission.turn(place.slot)
      if (turn !== undefined) await turn
      const before = shareLoop(tenantId)
      if (before !== undefined) await before
      // While the request waited, the key may have been revoked or the tenant deleted.
      if ((route.body ?? turn ?? before) !== undefined && isOld(askedMs)) await requireCaller()
      const checked = parseRequest(route, request, { tenantId, apiKeyId, params, query, bytes })
      // Frees the bytes: from here on only the parsed body is used.
      bytes = undefined
      const count = (moreItems: number) => rateLimit?.(caller, headers, moreItems)
      const context = { admission, place, askedMs, requireCaller, logFields, count, refusalOf }
      const answer = await route.run(useCases, checked, () => longSteps(request, context))
      if (route.lines) {
        const onError = (why: unknown) =>
          callHook(() => deps.onError(Object(why).cause ?? why, String(headers['x-request-id']), logFields))
        const lines = answer.body as AsyncIterable<object>
        return answerLines(lines, { tenantId, admission, requireCaller, onError })
      }
      const after = shareLoop(tenantId, true)
      if (after !== undefined) await after
      if (answer.logged) logFields.activities = answer.logged
      if (answer.replayed) headers['idempotent-replayed'] = 'true'
      Object.assign(headers, answer.headers)
      const { body: shown, status = route.status } = answer
      if (shown === undefined) return { status: 204, headers: {}, body: '', tenantId }
      const isRead = route.method === 'GET'
      if (!isRead && answer.revision === undefined) return json(status, `${route.write(shown)}\n`, tenantId)
      const { text, etag, length } = writeTagged(answer, route)
      headers['etag'] = etag
      if (isRead) headers['cache-control'] = 'private, no-cache'
      if (isRead && isKnown(request, etag)) return { status: 304, headers: {}, body: '', tenantId }
      headers['content-length'] = length
      return json(status, text, tenantId)
    } finally {
      admission.leave(place.slot)
    }
  }

  const readBody = bodiesOver(admission)
  const receive = receiveOver({ ...deps, readBody })
  const preflight = preflightOver(deps)

  const api: Api = async (request) => {
    const began = performance.now()
    callHook(() => deps.onRequest?.())
    const requestId = requestIdIn(request) ?? deps.newRequestId()
    const traceId = tracing?.traceId() ?? traceIdIn(request)
    const logFields: LogFields = traceId === undefined ? { requestId } : { requestId, traceId }
    const { path, query } = splitTarget(request.target)
    const matched = match(path)
    // Set before anything that takes time: the span of a sender that leaves early must not contain the token of a hook.
    if (matched !== null) tracing?.onRoute(matched.template)
    const headers: Headers = { 'x-request-id': requestId, ...ALWAYS }
    const refusalOf = (why: unknown): ApiResponse => {
      const failure = why instanceof DomainFailure ? why : null
      if (failure === null || failure.cause !== undefined)
        callHook(() => deps.onError(failure?.cause ?? why, requestId, logFields))
      return problem(codeOf(why), requestId, failure, request.basePath)
    }
    let code: ProblemCode | null = null
    let draft: ApiResponse
    try {
      draft = await respond(request, matched, query, headers, logFields, refusalOf)
    } catch (why) {
      code = codeOf(why)
      draft = shownTo(request, matched, refusalOf(why))
    }
    const ms = Math.round((performance.now() - began) * 1_000) / 1_000
    const route = matched?.template ?? null
    const { method } = request
    callHook(() => onAnswered({ requestId, method, route, status: draft.status, code, ms, ...logFields }))
    const response = responseOf(draft, headers)
    return method === 'HEAD' ? { ...response, body: '' } : response
  }
  return api
}

const codeOf = (why: unknown): ProblemCode => (why instanceof DomainFailure ? why.kind : 'internal_error')

const methodsOf = ({ routes }: Match<AnyRoute>): string =>
  [...routes.keys(), 'OPTIONS'].join(', ').replace('GET', 'GET, HEAD')

const refuseMethod = (allow: string): never =>
  refuse('method_not_allowed', `Method not allowed. Allowed methods: ${allow}.`, { allow })
