/** The HTTP interface for programs that bring their own server. */
import { randomUUID } from 'node:crypto'
import type { Answered, Api } from '../adapters/http/api.ts'
import { docsRoutes } from '../adapters/http/docs/routes.ts'
import { createHandler as createHandlerOver, type Handler } from '../adapters/http/node/handler.ts'
import { createNewId } from '../adapters/ids.ts'
import { type ApiSettings, composeApi } from '../compose/api.ts'
import { readConfig } from '../config/config.ts'
import type { Store } from '../core/ports/store.ts'
import type { Clock, NewId } from '../core/ports/world.ts'

export type { Answered, Api } from '../adapters/http/api.ts'
export type { Handler } from '../adapters/http/node/handler.ts'
export type { ApiRequest, ApiResponse } from '../adapters/http/requests.ts'

/** A revoked key is refused after this at the latest. Until then it needs no look-up. */
const KEYS_REMEMBERED_MS_MAX = 1_000

type Optional<Settings> = { readonly [Name in keyof Settings]?: Settings[Name] | undefined }

/** What an API needs. Only the store is required: the other settings have the defaults of the service. */
export type ApiOptions = Optional<ApiSettings> & {
  readonly store: Store
  /** Serve the interactive API reference at `/docs`. It loads the optional package `swagger-ui-dist`. */
  readonly docs?: boolean | undefined
  readonly clock?: Clock | undefined
  readonly newId?: NewId | undefined
  /** Lists of one operation in flight at a time. On PostgreSQL 2 is faster than 1. */
  readonly listsInFlightMax?: number | undefined
  /** Called for each request once it is answered: for logs. */
  readonly onAnswered?: ((answered: Answered) => void) | undefined
  /** Receives the cause of a 500 or a 503. By default it is printed to stderr. */
  readonly onError?: ((error: unknown, requestId: string) => void) | undefined
}

/**
 * The five operations over a store, with keys, limits and problem documents, as a function: a request in, a response
 * out. It neither migrates the store nor publishes.
 */
export const createApi = ({
  store,
  clock = Date.now,
  newId = createNewId(),
  docs = false,
  listsInFlightMax = 1,
  onAnswered = () => {},
  onError = (error, requestId) => console.error(requestId, error),
  ...settings
}: ApiOptions): Api =>
  composeApi({
    store,
    clock,
    newId,
    settings: withDefaults(settings),
    keysRememberedMsMax: KEYS_REMEMBERED_MS_MAX,
    listsInFlightMax,
    ready: () => store.ready(),
    rawRoutes: docs ? docsRoutes() : [],
    onAnswered,
    onError,
  }).api

/** The settings of the service, except for those that are given. */
const withDefaults = <Settings extends object>(given: Settings) => {
  const isGiven = ([, value]: [string, unknown]) => value !== undefined
  return { ...readConfig({}), ...Object.fromEntries(Object.entries(given).filter(isGiven)) }
}

/** Where the API is mounted, and the limits of its requests. */
export type HandlerOptions = {
  /**
   * Where the API is mounted: the whole path before `/v0`, such as `/prospects`. Links in answers begin with it. In
   * Express it may be left out: the handler takes it from `app.use`.
   */
  readonly basePath?: string | undefined
  /** Largest request body. */
  readonly bodyBytesMax?: number | undefined
  /** Bytes of answers that callers have not read; past it the slowest connections are closed. */
  readonly unsentBytesMax?: number | undefined
}

/**
 * The API as a listener `(req, res)` for `node:http`, Express, NestJS, Hono and Fastify. It never throws.
 *
 * Mount it before any body parser: a payload is stored byte for byte, and a parsed body has lost its bytes. A body that
 * was read but not parsed is fine, as `req.rawBody` or as a Buffer in `req.body`.
 *
 * Fastify parses bodies before its route handlers run, so take the requests in a hook:
 *
 * ```js
 * const handler = createHandler(createApi({ store }), { basePath: '/prospects' })
 * app.addHook('onRequest', (request, reply, done) => handler(request.raw, reply.raw, done))
 * ```
 */
export const createHandler = (api: Api, { basePath = '', ...limits }: HandlerOptions = {}): Handler =>
  createHandlerOver({
    api,
    basePath: basePath.replace(/^\/*(?=.)/, '/').replace(/\/+$/, ''),
    limits: withDefaults(limits),
    newRequestId: randomUUID,
  })
