import { createAdmission } from '../adapters/http/admission.ts'
import { createApi } from '../adapters/http/api.ts'
import { limitFailedAuth } from '../adapters/http/limits/failed-auth-limit.ts'
import { limitForms } from '../adapters/http/limits/form-limit.ts'
import { createRateLimit } from '../adapters/http/limits/rate-limit.ts'
import { shareLoop } from '../adapters/http/share-loop.ts'
import { stopwatch } from '../adapters/stopwatch.ts'
import { rememberRows } from '../adapters/stores/remember-rows.ts'
import type { Config } from '../config/config.ts'
import { findEnabled, receiveHooks } from '../core/hooks/receive-hook.ts'
import type { Signal } from '../core/ports/store.ts'
import { type Caller, identify } from '../core/tenants/identify.ts'
import { warnUnattended } from '../service/unattended.ts'
import { composeUseCases } from '../service/use-cases.ts'

/** How long a request waits for its turn. */
const WAIT_MS_MAX = 2_000
/** Calls this then, unless the process ends before. */
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
type Made = 'hooks' | 'receiver' | 'useCases' | 'identify' | 'rateLimit' | 'limitForms' | 'admission'
type Composed = keyof ApiSettings | Made
type Deps = Omit<Parameters<typeof composeUseCases>[0] & Parameters<typeof createApi>[0], Composed> & {
  readonly settings: ApiSettings
  /** How long a key needs no look-up unless keys change. */
  readonly keysRememberedMsMax: number
  readonly background?: 'elsewhere' | undefined
  /** The caller of a request without a key. */
  readonly caller?: Caller
}

/** The API over a store. `onSignal`: call it with the signals of the store. */
export const composeApi = ({ settings, keysRememberedMsMax, caller, ...deps }: Deps) => {
  const { store, clock, newId, publicUrl } = deps
  const { apiKeys } = store
  const limits = { rowsMax: KEYS_REMEMBERED_MAX, msMax: keysRememberedMsMax }
  const findKeys = (keyHashes: readonly string[]) => apiKeys.findByHashes(keyHashes)
  const keys = rememberRows(findKeys, ({ keyHash }) => keyHash, stopwatch, limits)
  const hooks = { secrets: deps.webhooks.secrets, publicUrl, shareLoop }
  const known = rememberRows(findEnabled(store.hooks), ({ hookId }) => hookId, stopwatch, limits)
  const limitGuesses = limitFailedAuth(settings.failedAuthPerMinute, stopwatch)
  const byKey = identify({ apiKeys, keys, clock, limitGuesses })
  const composed = composeUseCases({ ...deps, ...settings, hooks })
  const useCases = warnUnattended(composed, deps.store, deps.background)
  const receiver = receiveHooks({
    store,
    clock,
    newId,
    hooks,
    known,
    logProspectActivity: useCases.logProspectActivity,
    later: callLater,
  })
  const api = createApi({
    ...deps,
    useCases,
    receiver,
    identify: caller ? () => caller : byKey,
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
    if (signal === 'keys') for (const { forget } of [keys, receiver]) forget()
  }
  return { api, useCases, onSignal }
}
