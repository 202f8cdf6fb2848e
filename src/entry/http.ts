/** The HTTP interface for programs that bring their own server. */
import './needs-node.ts'
import { randomUUID } from 'node:crypto'
import type { Authenticate } from '../adapters/http/callers.ts'
import { consoleRoutes } from '../adapters/http/console/routes.ts'
import { docsRoutes } from '../adapters/http/docs/routes.ts'
import { basePathFrom } from '../adapters/http/mounted.ts'
import { createHandler as createHandlerOver, type Handler } from '../adapters/http/node/handler.ts'
import type { MessageLimits } from '../adapters/http/node/message.ts'
import type { Api, RequestLog } from '../adapters/http/requests.ts'
import { createNewId } from '../adapters/ids.ts'
import { type ApiSettings, composeApi } from '../compose/api.ts'
import { checkOptions } from '../config/check-options.ts'
import { withDefaults } from '../config/with-defaults.ts'
import type { Optional } from '../core/engine/optional.ts'
import type { ServiceOptions } from '../service/service-types.ts'
import { webhookTools } from '../service/webhook-tools.ts'

export type { Authenticate, Authenticated } from '../adapters/http/callers.ts'
export type { Handler } from '../adapters/http/node/handler.ts'
export type { Api, ApiRequest, ApiResponse, RequestLog } from '../adapters/http/requests.ts'

/** A key that was revoked elsewhere is refused after this time at the latest. */
const KEYS_REMEMBERED_MS_MAX = 1_000

/** The options of an API. Only the store is required: the other settings have the defaults of the service. */
export type ApiOptions = Optional<ApiSettings> &
  ServiceOptions & {
    /**
     * Returns the sender of a request, instead of its API key: resolves to `{ tenantId, scopes }`, or to null if unknown.
     * Required for a store without API keys.
     */
    readonly authenticate?: Authenticate | undefined
    /** Serve the interactive API reference at `/docs`. */
    readonly docs?: boolean | undefined
    /** Serve the console at `/console/`: a page that shows what a key may see, and calls this API alone. */
    readonly console?: boolean | undefined
    /** Called for each request once it is answered: for logs. */
    readonly onAnswered?: ((answered: RequestLog) => void) | undefined
    /** Receives the cause of a 500 or a 503. By default it is printed to stderr. */
    readonly onError?: ((error: unknown, requestId: string) => void) | undefined
  }

/**
 * The operations over a store, with keys, limits and problem documents, as a function: a request in, a response out. It
 * neither migrates the store nor completes accepted work: see `startBackground` of `prospect-pages/publisher`.
 *
 * `close` stops listening to the store, which stays open. Only a program that makes many over one store needs it.
 */
export const createApi = (options: ApiOptions): Api & { readonly close: () => void } => {
  const {
    store,
    clock = Date.now,
    newId = createNewId(),
    docs,
    console: isConsole,
    webhooks,
    publicUrl,
    background,
    authenticate,
    onAnswered = () => {},
    onError = (error: unknown, requestId: string) => console.error(requestId, error),
    ...settings
  } = checkOptions('createApi', options)
  if (store.apiKeys === undefined && authenticate === undefined) throw new TypeError(NO_CALLERS)
  const { api, onSignal } = composeApi({
    store,
    clock,
    newId,
    background,
    authenticate,
    onAnswered,
    onError,
    settings: withDefaults(settings),
    webhooks: webhookTools(webhooks, clock),
    publicUrl: publicUrl ?? null,
    keysRememberedMsMax: KEYS_REMEMBERED_MS_MAX,
    ready: async () => store.ready?.(),
    rawRoutes: [...(docs ? docsRoutes() : []), ...(isConsole ? consoleRoutes(console.warn) : [])],
    newRequestId: randomUUID,
  })
  const apiOnly: Api = (request) => {
    if (request instanceof Request) throw new TypeError(FETCH_REQUEST)
    return api(request)
  }
  const unwatch = store.watch?.(onSignal)
  return Object.assign(apiOnly, { close: () => unwatch?.() })
}
const NO_CALLERS = 'authenticate is required: the store has no apiKeys.'
const FETCH_REQUEST =
  'The API takes no Request of the Fetch standard: pass it to createFetchHandler of prospect-pages/fetch.'

/** Where the API is mounted, and the limits of its requests. */
export type HandlerOptions = Optional<MessageLimits> & {
  /**
   * Where the API is mounted: the whole path before `/v0`, such as `/prospects`. Links in answers begin with it. In
   * Express it may be left out: the handler takes it from `app.use`.
   */
  readonly basePath?: string | undefined
}

/**
 * The API as a listener `(req, res)` for `node:http`, Express, NestJS, Hono and Fastify. It never throws.
 *
 * Mount it before any body parser: a payload is stored byte for byte, and a parsed body has lost its bytes. A body that
 * was read but not parsed is fine, as `req.rawBody` or as a Buffer in `req.body`. Fastify parses bodies before its route
 * handlers run: take the requests in the hook `onRequest`.
 */
export const createHandler = (api: Api, { basePath = '', ...limits }: HandlerOptions = {}): Handler => {
  checkOptions('createHandler', { api, basePath, ...limits })
  return createHandlerOver({
    api,
    basePath: basePathFrom(basePath),
    limits: withDefaults(limits),
    newRequestId: randomUUID,
  })
}
