import { createNewId } from '../adapters/ids.ts'
import { createPublisher as workInBackground } from '../adapters/publisher.ts'
import { checkOptions } from '../config/check-options.ts'
import { DEFAULTS } from '../config/config.ts'
import { eventData, eventReaders, webhookBodyOf } from '../core/event-data.ts'
import { numberEvents } from '../core/number-events.ts'
import type { Store } from '../core/ports/store.ts'
import type { Clock, NewId } from '../core/ports/world.ts'
import { type OnEndpoint, sendWebhooks } from '../core/send-webhooks.ts'
import { type WebhookOptions, webhookTools } from './webhook-tools.ts'

/** Between two steps: requests get the database meanwhile. */
const REST_MS = 5
/** Bodies are read apart from what callers ask for, so that neither waits for the other. */
const READS = { listLengthMax: 64, listsInFlightMax: 1, answersAtOnceMax: 16, dedupeKey: JSON.stringify }

/** What the sending of webhooks needs. Omitted settings have the defaults of the service. */
export type WebhooksOptions = {
  readonly store: Store
  readonly clock?: Clock | undefined
  readonly newId?: NewId | undefined
  /** The same as for the API or the service that creates the endpoints. */
  readonly webhooks?: WebhookOptions | undefined
  /** How often it polls for events and deliveries that no signal announced. */
  readonly pollMs?: number | undefined
  readonly onEndpoint?: OnEndpoint | undefined
  /** Called for each error, mostly of the database; sending goes on. By default prints it to stderr. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Called after each step without an error. */
  readonly onStep?: (() => void) | undefined
}
/** `start` sends from now on; `wake` looks for events at once; call `stop` before the store is closed. */
export type Webhooks = ReturnType<typeof createWebhooks>

/** Numbers events and sends webhooks. Several of it, in one process or in many, share the work. */
export const createWebhooks = (options: WebhooksOptions) => {
  const {
    store,
    clock = Date.now,
    newId = createNewId(),
    webhooks = {},
    pollMs = DEFAULTS.publisherPollMs,
    onEndpoint = () => {},
    onError = console.error,
    onStep,
  } = checkOptions(options, 'store')
  const { send, secrets } = webhookTools(webhooks, clock)
  const dataOf = eventData(eventReaders({ store }, () => READS))
  const deps = { store, clock, newId, onError }
  const steps = [
    numberEvents(deps),
    sendWebhooks({
      ...deps,
      ...{ send, openSecret: secrets.open, random: Math.random, onEndpoint },
      bodyOf: async (event) => webhookBodyOf(event, await dataOf(event)),
    }),
  ]
  const workers = steps.map((publish) =>
    workInBackground({ publish, pollMs, restMs: REST_MS, onError, onStep }),
  )
  const wake = () => {
    for (const worker of workers) worker.wake()
  }
  return {
    start: (): void => {
      store.watch((signal) => {
        if (signal === 'events') setImmediate(wake)
      })
      for (const worker of workers) worker.start()
    },
    wake,
    /** Ends attempts in flight, which then do not count, and saves the others. */
    stop: async (): Promise<void> => {
      await Promise.all(workers.map((worker) => worker.stop()))
    },
  }
}
