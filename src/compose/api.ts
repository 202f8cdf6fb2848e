import { createAdmission } from '../adapters/http/admission.ts'
import { createApi } from '../adapters/http/api.ts'
import { type Authenticate, byApiKey, byFunction, type IdentifyCaller } from '../adapters/http/callers.ts'
import { limitFailedAuth } from '../adapters/http/limits/failed-auth-limit.ts'
import { limitForms } from '../adapters/http/limits/form-limit.ts'
import { createRateLimit } from '../adapters/http/limits/rate-limit.ts'
import { routesOver } from '../adapters/http/routes.ts'
import { shareLoop } from '../adapters/http/share-loop.ts'
import { stopwatch } from '../adapters/stopwatch.ts'
import { rememberRows } from '../adapters/stores/remember-rows.ts'
import type { Config } from '../config/config.ts'
import { findEnabled, receiveHooks } from '../core/hooks/receive-hook.ts'
import type { Signal, SmallStore, Store } from '../core/ports/store.ts'
import { type Caller, identify } from '../core/tenants/identify.ts'
import { warnUnattended } from '../service/unattended.ts'
import { composeUseCases } from '../service/use-cases.ts'

/** How long a request waits for its turn. */
const WAIT_MS_MAX = 2_000
/** Calls a function later, unless the process ends first. */
export const callLater = (ms: number, act: () => void): void => void setTimeout(act, ms).unref()
/** Keys, and hooks. */
const KEYS_REMEMBERED_MAX = 10_000

/** The settings of an API, of the service and of the library alike. */
export type ApiSettings = Pick<
  Config,
  | 'requireIdentity'
  | 'prospectsRememberedMax'
  | 'counts'
  | 'rateLimitPerMinute'
  | 'failedAuthPerMinute'
  | 'hookFormsPerMinute'
  | 'requestsAtOnceMax'
  | 'requestsWaitingMax'
  | 'bodyBytesHeldMax'
>
/** Parts that are built here. */
type Built =
  | 'routes'
  | 'hasHooks'
  | 'hooks'
  | 'receiver'
  | 'useCases'
  | 'identify'
  | 'rateLimit'
  | 'limitForms'
  | 'admission'
type Supplied = Omit<
  Parameters<typeof composeUseCases>[0] & Parameters<typeof createApi>[0],
  keyof ApiSettings | Built
>
type Deps = Supplied & {
  readonly store: SmallStore
  readonly settings: ApiSettings
  /** Returns the sender of a request instead of its API key, or null if unknown. */
  readonly authenticate?: Authenticate | undefined
  /** How long a key needs no look-up unless keys change. */
  readonly keysRememberedMsMax: number
  readonly background?: 'elsewhere' | undefined
  /** The caller of a request without a key. */
  readonly caller?: Caller
}

/** The API over a store. `onSignal`: call it with the signals of the store. */
export const composeApi = ({ settings, keysRememberedMsMax, caller, authenticate, ...deps }: Deps) => {
  const { clock, newId, publicUrl } = deps
  // Routes whose parts are missing do not exist.
  const store = deps.store as Store
  const limits = { rowsMax: KEYS_REMEMBERED_MAX, msMax: keysRememberedMsMax }
  const hooks = { secrets: deps.webhooks.secrets, publicUrl, shareLoop }
  const known = rememberRows(findEnabled(store.hooks), ({ hookId }) => hookId, stopwatch, limits)
  const keys = rememberRows(
    (keyHashes: readonly string[]) => store.apiKeys.findByHashes(keyHashes),
    ({ keyHash }) => keyHash,
    stopwatch,
    limits,
  )
  const tenants = rememberRows(
    async (ids) => (await Promise.all(ids.map((id) => store.tenants.find(id)))).filter((row) => row !== null),
    ({ tenantId }) => tenantId,
    stopwatch,
    limits,
  )
  const callerOf = identify({
    apiKeys: store.apiKeys,
    keys,
    clock,
    limitGuesses: limitFailedAuth(settings.failedAuthPerMinute, stopwatch),
  })
  const identifyBy = (): IdentifyCaller => {
    if (caller !== undefined) return () => caller
    if (authenticate === undefined) return byApiKey(callerOf)
    return byFunction(authenticate, store.tenants === undefined ? null : tenants.find)
  }
  const composed = composeUseCases({ ...deps, ...settings, hooks })
  const useCases = warnUnattended(composed, deps.background)
  const { logProspectActivity } = useCases
  const receiver = receiveHooks({ store, clock, newId, hooks, known, logProspectActivity, later: callLater })
  const api = createApi({
    ...deps,
    useCases,
    routes: routesOver(store),
    receiver,
    hasHooks: store.hooks !== undefined,
    identify: identifyBy(),
    rateLimit: createRateLimit(settings.rateLimitPerMinute, stopwatch),
    limitForms: limitForms(settings.hookFormsPerMinute, stopwatch),
    admission: createAdmission({
      atOnceMax: settings.requestsAtOnceMax,
      waitingMax: settings.requestsWaitingMax,
      waitMsMax: WAIT_MS_MAX,
      bodyBytesMax: settings.bodyBytesHeldMax,
    }),
  })
  const onSignal = (signal: Signal): void => {
    if (signal !== 'keys') return
    keys.forget()
    tenants.forget()
    receiver.forget()
  }
  return { api, useCases, onSignal }
}
