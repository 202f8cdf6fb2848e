import { createAdmission } from '../adapters/http/admission.ts'
import { createApi } from '../adapters/http/api.ts'
import { type Authenticate, byApiKey, byFunction, type IdentifyCaller } from '../adapters/http/callers.ts'
import { limitFailedAuth } from '../adapters/http/limits/failed-auth-limit.ts'
import { limitForms } from '../adapters/http/limits/form-limit.ts'
import { createRateLimit } from '../adapters/http/limits/rate-limit.ts'
import type { RawRoute } from '../adapters/http/raw-route.ts'
import type { LogFields, RequestLog } from '../adapters/http/requests.ts'
import { routesOver } from '../adapters/http/routes.ts'
import { shareLoop } from '../adapters/loop-share.ts'
import type { OpenTelemetry } from '../adapters/open-telemetry.ts'
import { stopwatch } from '../adapters/stopwatch.ts'
import type { GatherObserver } from '../adapters/stores/gather.ts'
import { type RowLimits, rememberRows } from '../adapters/stores/remember-rows.ts'
import type { Config } from '../config/config.ts'
import type { ApiKeys } from '../core/ports/api-keys.ts'
import { asWhole, type Signal, type SmallStore } from '../core/ports/store.ts'
import type { Tenants } from '../core/ports/tenants.ts'
import type { Clock, NewId } from '../core/ports/world.ts'
import { type Caller, identify } from '../core/tenants/identify.ts'
import type { WebhookTools } from '../core/webhooks/webhook-tools.ts'
import { composeReceiver } from '../service/compose-receiver.ts'
import { warnUnattended } from '../service/unattended.ts'
import { composeUseCases } from '../service/use-cases.ts'

/** How long a request waits for its turn. */
const WAIT_MS_MAX = 2_000
/** API keys that need no look-up, or tenants of an embedder's callers. */
const CALLERS_REMEMBERED_MAX = 10_000

/** The settings of an API, of the service and of the library alike. */
export type ApiSettings = Pick<
  Config,
  | 'requireIdentity'
  | 'prospectsRememberedMax'
  | 'counts'
  | 'rateLimitPerMinute'
  | 'failedAuthPerMinute'
  | 'hookFormsPerMinute'
  | 'uploadBytesMax'
  | 'requestsAtOnceMax'
  | 'requestsWaitingMax'
  | 'bodyBytesHeldMax'
>
type Deps = {
  readonly store: SmallStore
  readonly clock: Clock
  readonly newId: NewId
  readonly newRequestId: () => string
  readonly webhooks: WebhookTools
  /** The URL at which vendors reach this service; null if unknown. */
  readonly publicUrl: string | null
  readonly settings: ApiSettings
  /** Identifies the sender of a request instead of its API key. */
  readonly authenticate?: Authenticate | undefined
  /** The caller of every request: no request has a key. */
  readonly caller?: Caller
  /** How long a key or a hook needs no look-up unless keys or hooks change. */
  readonly keysRememberedMsMax: number
  /** Set if another process completes the work that the API accepts. */
  readonly background?: 'elsewhere' | undefined
  /** Refuses `unavailable` while the service is not ready. */
  readonly ready: () => Promise<void>
  /** Routes besides the operations and those of every service. */
  readonly rawRoutes?: readonly RawRoute[]
  readonly onRequest?: (() => void) | undefined
  readonly onAnswered: (answered: RequestLog) => void
  readonly onError: (error: unknown, requestId: string, logFields: LogFields) => void
  readonly tracing?: OpenTelemetry | null | undefined
  readonly observerOf?: ((operation: string) => GatherObserver | undefined) | undefined
}

/** The API over a store. `onSignal`: call it with the signals of the store. */
export const composeApi = (deps: Deps) => {
  const { clock, newId, webhooks, publicUrl, settings, keysRememberedMsMax } = deps
  const store = asWhole(deps.store)
  const { requireIdentity, prospectsRememberedMax, counts } = settings
  const hooks = { secrets: webhooks.secrets, publicUrl, shareLoop }
  const composed = composeUseCases({
    store,
    clock,
    newId,
    webhooks,
    hooks,
    requireIdentity,
    prospectsRememberedMax,
    counts,
    observerOf: deps.observerOf,
  })
  const useCases = warnUnattended(composed, deps.background)
  const receiver = composeReceiver({
    store,
    clock,
    newId,
    hooks,
    logProspectActivity: useCases.logProspectActivity,
    hooksRememberedMsMax: keysRememberedMsMax,
  })
  const callers = composeCallers(deps)
  const api = createApi({
    useCases,
    receiver,
    hasHooks: store.hooks !== undefined,
    publicUrl,
    identify: callers.identify,
    routes: routesOver(store),
    rawRoutes: deps.rawRoutes ?? [],
    rateLimit: createRateLimit(settings.rateLimitPerMinute, stopwatch),
    limitForms: limitForms(settings.hookFormsPerMinute, stopwatch),
    uploadBytesMax: settings.uploadBytesMax,
    admission: createAdmission({
      atOnceMax: settings.requestsAtOnceMax,
      waitingMax: settings.requestsWaitingMax,
      waitMsMax: WAIT_MS_MAX,
      bodyBytesMax: settings.bodyBytesHeldMax,
    }),
    newRequestId: deps.newRequestId,
    ready: deps.ready,
    onRequest: deps.onRequest,
    onAnswered: deps.onAnswered,
    onError: deps.onError,
    tracing: deps.tracing,
  })
  const onSignal = (signal: Signal): void => {
    if (signal !== 'keys') return
    callers.forget()
    receiver.forget()
  }
  return { api, useCases, onSignal }
}

type Callers = {
  readonly identify: IdentifyCaller
  /** Call this when keys or tenants may have changed elsewhere. */
  readonly forget: () => void
}

const composeCallers = (deps: Deps): Callers => {
  const { store, clock, settings, authenticate, caller } = deps
  const limits = {
    rowsMax: CALLERS_REMEMBERED_MAX,
    msMax: deps.keysRememberedMsMax,
    hasAllSignals: () => store.hasAllSignals?.() ?? true,
  }
  if (caller !== undefined) return { identify: () => caller, forget: () => {} }
  if (authenticate !== undefined) return callersByFunction(authenticate, store.tenants, limits)
  // Without `authenticate` or a caller, a store has API keys: `createApi` of `prospect-pages/http` checks that.
  return callersByKey(store.apiKeys as ApiKeys, clock, settings.failedAuthPerMinute, limits)
}

const callersByFunction = (
  authenticate: Authenticate,
  tenants: Tenants | undefined,
  limits: RowLimits,
): Callers => {
  if (tenants === undefined) return { identify: byFunction(authenticate, null), forget: () => {} }
  const findEach = async (tenantIds: readonly string[]) => {
    const found = await Promise.all(tenantIds.map((tenantId) => tenants.find(tenantId)))
    return found.filter((tenant) => tenant !== null)
  }
  const known = rememberRows(findEach, ({ tenantId }) => tenantId, stopwatch, limits)
  return { identify: byFunction(authenticate, known.find), forget: known.forget }
}

const callersByKey = (
  apiKeys: ApiKeys,
  clock: Clock,
  failedAuthPerMinute: ApiSettings['failedAuthPerMinute'],
  limits: RowLimits,
): Callers => {
  const findEach = (keyHashes: readonly string[]) => apiKeys.findByHashes(keyHashes)
  const keys = rememberRows(findEach, ({ keyHash }) => keyHash, stopwatch, limits)
  const limitGuesses = limitFailedAuth(failedAuthPerMinute, stopwatch)
  const callerOf = identify({ apiKeys, keys, clock, limitGuesses })
  return { identify: byApiKey(callerOf), forget: keys.forget }
}
