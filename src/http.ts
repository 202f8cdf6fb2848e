/** The HTTP interface for programs that bring their own server. */
import { randomUUID } from 'node:crypto'
import { type Answered, type Api, createApi as createApiOver } from './adapters/http/api.ts'
import { createHandler as createHandlerOver, type Handler } from './adapters/http/handler.ts'
import { createRateLimit } from './adapters/http/rate-limit.ts'
import { createNewId } from './adapters/ids.ts'
import { composeCallers } from './compose-callers.ts'
import { readConfig } from './config.ts'
import type { Clock, NewId, Store } from './core/ports.ts'
import { composeUseCases } from './use-cases.ts'

export type { Answered, Api } from './adapters/http/api.ts'
export type { Handler } from './adapters/http/handler.ts'
export type { ApiRequest, ApiResponse } from './adapters/http/requests.ts'

/** A revoked key is refused after this at the latest; meanwhile it costs no look-up. */
const REMEMBERED_MS_MAX = 1_000

/** What an API needs and may be told. What is left out is as the service has it by default. */
export type ApiOptions = {
  readonly store: Store
  readonly clock?: Clock | undefined
  readonly newId?: NewId | undefined
  /** Refuse an activity with neither prospectId nor email. */
  readonly requireIdentity?: boolean | undefined
  /** Requests of one key in a minute; null: no limit. */
  readonly rateLimitPerMinute?: number | null | undefined
  /** Wrong keys of one address in a minute; null: no limit. */
  readonly wrongKeysPerMinute?: number | null | undefined
  /** Requests that came and are not answered; a tenant may have as many as are left. */
  readonly requestsInFlightMax?: number | undefined
  /** Requests that are worked on, divided in the same way. */
  readonly requestsAtOnceMax?: number | undefined
  /** Bytes of bodies that wait for their answer, divided in the same way. */
  readonly bodyBytesHeldMax?: number | undefined
  /** Calls of one operation that wait for a list. */
  readonly queuedCallsMax?: number | undefined
  /** Lists of one operation under way at a time. On PostgreSQL 2 is faster than 1. */
  readonly listsUnderWayMax?: number | undefined
  /** Told of each request once it is answered: for logs. */
  readonly onAnswered?: ((answered: Answered) => void) | undefined
  /** Told what lies behind a 500 or a 503. By default it is printed to stderr. */
  readonly onError?: ((error: unknown, requestId: string) => void) | undefined
}

/**
 * The five operations over a store, with keys, limits and problems, as a function: a request in, a response out. It
 * neither migrates the store nor publishes.
 */
export const createApi = ({ store, ...options }: ApiOptions): Api => {
  const defaults = readConfig({})
  const {
    clock = Date.now,
    newId = createNewId(),
    requireIdentity = defaults.requireIdentity,
    rateLimitPerMinute = defaults.rateLimitPerMinute,
    wrongKeysPerMinute = defaults.wrongKeysPerMinute,
    requestsInFlightMax = defaults.requestsInFlightMax,
    requestsAtOnceMax = defaults.requestsAtOnceMax,
    bodyBytesHeldMax = defaults.bodyBytesHeldMax,
    queuedCallsMax = defaults.queuedCallsMax,
    listsUnderWayMax = 1,
    onAnswered = () => {},
    onError = (error, requestId) => console.error(requestId, error),
  } = options
  const { identify } = composeCallers({
    apiKeys: store.apiKeys,
    clock,
    wrongKeysPerMinute,
    rememberedMsMax: REMEMBERED_MS_MAX,
  })
  return createApiOver({
    useCases: composeUseCases({ store, clock, newId }, { requireIdentity, queuedCallsMax }, listsUnderWayMax),
    identify,
    rateLimit:
      rateLimitPerMinute === null ? null : createRateLimit(rateLimitPerMinute, () => performance.now()),
    requestsInFlightMax,
    requestsAtOnceMax,
    bodyBytesHeldMax,
    newRequestId: randomUUID,
    ready: () => store.ready(),
    onAnswered,
    onError,
  })
}

export type HandlerOptions = {
  /** What the paths of this server have before `/v0`, such as `/prospects`, where nobody else has cut it off already. */
  readonly prefix?: string | undefined
  /** Largest body of a request. */
  readonly bodyBytesMax?: number | undefined
  /** Bytes of answers that callers have not taken; past it the slowest are disconnected. */
  readonly unsentBytesMax?: number | undefined
}

/**
 * The API as a listener `(req, res)` for `node:http`, Express, and Fastify with `reply.hijack()`. It never throws.
 *
 * Mount it before anything that reads bodies: a payload is stored byte for byte, and from a parsed body its bytes cannot
 * be had again. A body that was read and not parsed is fine, as `req.rawBody` or as a Buffer in `req.body`.
 */
export const createHandler = (api: Api, options: HandlerOptions = {}): Handler => {
  const defaults = readConfig({})
  const {
    prefix = '',
    bodyBytesMax = defaults.bodyBytesMax,
    unsentBytesMax = defaults.unsentBytesMax,
  } = options
  return createHandlerOver({
    api,
    prefix: prefix.replace(/^\/*(?=.)/, '/').replace(/\/+$/, ''),
    limits: { bodyBytesMax, unsentBytesMax },
    newRequestId: randomUUID,
  })
}
