import { randomUUID } from 'node:crypto'
import { createAdmission } from '../adapters/http/admission.ts'
import { createApi } from '../adapters/http/api.ts'
import { createRateLimit } from '../adapters/http/limits/rate-limit.ts'
import type { Config } from '../config/config.ts'
import type { Store } from '../core/ports/store.ts'
import type { Clock, NewId } from '../core/ports/world.ts'
import { composeCallers } from './callers.ts'
import { composeUseCases } from './use-cases.ts'

/** How long a request waits for its turn. */
const WAIT_MS_MAX = 2_000

/** The settings of an API, of the service and of the library alike. */
export type ApiSettings = Pick<
  Config,
  | 'requireIdentity'
  | 'rateLimitPerMinute'
  | 'failedAuthPerMinute'
  | 'requestsAtOnceMax'
  | 'requestsWaitingMax'
  | 'bodyBytesHeldMax'
>
type Deps = {
  readonly store: Store
  readonly clock: Clock
  readonly newId: NewId
  readonly settings: ApiSettings
} & Pick<Parameters<typeof composeCallers>[0], 'keysRememberedMsMax'> &
  Pick<Parameters<typeof composeUseCases>[0], 'listsInFlightMax' | 'observerOf'> &
  Pick<
    Parameters<typeof createApi>[0],
    'ready' | 'rawRoutes' | 'onRequest' | 'onAnswered' | 'onError' | 'tracing'
  >

/** The API over a store. `forgetKeys`: call it when keys have changed. */
export const composeApi = ({ store, clock, newId, settings, ...deps }: Deps) => {
  const stopwatch = () => performance.now()
  const { keysRememberedMsMax, listsInFlightMax, observerOf, ...rest } = deps
  const { requireIdentity, failedAuthPerMinute } = settings
  const { apiKeys } = store
  const callers = composeCallers({ apiKeys, clock, stopwatch, failedAuthPerMinute, keysRememberedMsMax })
  const useCases = composeUseCases({ store, clock, newId, requireIdentity, listsInFlightMax, observerOf })
  const api = createApi({
    ...rest,
    useCases,
    identify: callers.identify,
    rateLimit: createRateLimit(settings.rateLimitPerMinute, stopwatch),
    admission: createAdmission({
      atOnceMax: settings.requestsAtOnceMax,
      waitingMax: settings.requestsWaitingMax,
      waitMsMax: WAIT_MS_MAX,
      bodyBytesMax: settings.bodyBytesHeldMax,
    }),
    newRequestId: randomUUID,
  })
  return { api, useCases, forgetKeys: callers.forget }
}
