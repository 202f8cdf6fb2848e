import { type Background, type WorkHooks, workInBackground } from '../adapters/background-work.ts'
import { createNewId } from '../adapters/ids.ts'
import type { Job } from '../adapters/job-runner.ts'
import { shareLoop } from '../adapters/loop-share.ts'
import type { QueueWatch } from '../adapters/queue-watch.ts'
import { yieldToRequests } from '../adapters/yield-to-requests.ts'
import { checkOptions } from '../config/check-options.ts'
import { DEFAULTS } from '../config/config.ts'
import { webhookEventData } from '../core/events/event-data.ts'
import { numberEvents } from '../core/events/number-events.ts'
import { asWhole, type SmallStore } from '../core/ports/store.ts'
import type { Clock, NewId } from '../core/ports/world.ts'
import { type OnEndpoint, sendWebhooks } from '../core/webhooks/send-webhooks.ts'
import type { WebhookTools } from '../core/webhooks/webhook-tools.ts'
import { eventReaders } from '../service/event-readers.ts'
import { type WebhookOptions, webhookTools } from '../service/webhook-tools.ts'

/** Pause between two steps, in which requests get the database. */
const REST_MS = 5
/** Pause between two lists of deliveries. */
const LIST_REST_MS = 2
/** Events are read apart from callers' reads, so that neither delays the other. At most 16 MiB at once. */
const EVENT_READS = { listLengthMax: 16, listsInFlightMax: 1, dedupeKey: JSON.stringify }

/** The options of sending webhooks. Omitted settings have the defaults of the service. */
export type WebhooksOptions = WorkHooks & {
  readonly store: SmallStore
  readonly clock?: Clock | undefined
  readonly newId?: NewId | undefined
  /** The same as for the API or the service that creates the endpoints. */
  readonly webhooks?: WebhookOptions | undefined
  /** How often it polls for events and deliveries that no signal announced. */
  readonly pollMs?: number | undefined
  readonly onEndpoint?: OnEndpoint | undefined
}

/** Numbers events and sends webhooks. Several senders, in one process or in many, share the work. */
export const createWebhooks = (
  options: WebhooksOptions,
  sharedTools?: WebhookTools,
  queues?: QueueWatch,
): Background =>
  workInBackground(checkOptions('createWebhooks', options), webhookJobs(options, sharedTools), queues)

export const webhookJobs = (options: WebhooksOptions, sharedTools?: WebhookTools): readonly Job[] => {
  const { clock = Date.now, newId = createNewId() } = options
  const store = asWhole(options.store)
  const { pollMs = DEFAULTS.publisherPollMs, onEndpoint = () => {} } = options
  const { send, secrets } = sharedTools ?? webhookTools(options.webhooks, clock)
  const dataOf = webhookEventData(eventReaders({ store }, EVENT_READS))
  const deps = {
    store,
    clock,
    newId,
    send,
    openSecret: secrets.open,
    random: Math.random,
    onEndpoint,
    yieldToRequests: (tookMs: number, stop: AbortSignal) => yieldToRequests(tookMs, LIST_REST_MS, stop),
  }
  return [
    {
      needs: ['events'],
      queue: 'events',
      signal: 'events',
      pollMs,
      restMs: REST_MS,
      createStep: (onError) => numberEvents({ ...deps, shareLoop, onError }),
    },
    {
      needs: ['webhooks', 'events', 'prospects', 'prospectLogs'],
      queue: 'deliveries',
      signal: 'deliveries',
      pollMs,
      restMs: REST_MS,
      createStep: (onError) => sendWebhooks({ ...deps, dataOf, onError }),
    },
  ]
}
