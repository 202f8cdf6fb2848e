import { PROBLEMS } from '../adapters/http/problems.ts'
import type { RequestLog } from '../adapters/http/requests.ts'
import type { Log } from '../adapters/log.ts'
import type { Metrics } from '../adapters/metrics/metrics.ts'
import type { OpenTelemetry } from '../adapters/open-telemetry.ts'
import type { Config } from '../config/config.ts'
import type { DomainFailure } from '../core/engine/failures.ts'
import type { Used } from '../core/ports/counts.ts'
import { watchBusiestKey } from './busiest-key.ts'
import { onceAMinute } from './once-a-minute.ts'

/** The observers of the service besides the log. */
export type Telemetry = {
  readonly metrics?: Metrics | null
  readonly openTelemetry?: OpenTelemetry | null
}

/** Loads the telemetry that is enabled. Disabled parts are not even imported. */
export const loadTelemetry = async (config: Pick<Config, 'metrics'>): Promise<Telemetry> => ({
  metrics: config.metrics ? (await import('../adapters/metrics/metrics.ts')).createMetrics() : null,
  openTelemetry: await (await import('../adapters/open-telemetry.ts')).findOpenTelemetry(),
})

type Always = { readonly log: Log; readonly use?: (used: Used) => void }
/** Passes events of the service to the log, the metrics and the traces. */
export const observe = ({ log, metrics, openTelemetry, use }: Telemetry & Always) => {
  const logFailure = onceAMinute((count, err, facts) => log.error({ err, ...facts, count }, 'request failed'))
  const busiestKey = watchBusiestKey({ report: (facts) => log.warn(facts, 'One key makes others wait.') })
  metrics?.busiestKeyShare(busiestKey.share)
  const note = (answered: RequestLog): void => {
    if (answered.admission && answered.tenantId) busiestKey.note(answered)
    metrics?.onAnswered(answered)
    log.info(answered, 'answered')
  }
  return {
    requests: {
      onRequest: metrics?.onRequest,
      /**
       * The answer is written first, in the same tick of the event loop: its caller does not wait for the log. Use is counted
       * at once, because a service that closes saves what was counted.
       */
      onAnswered: (answered: RequestLog) => {
        const { tenantId, apiKeyId, hookId, activities = 0, bodyBytes: bytes = 0 } = answered
        if (tenantId) use?.({ tenantId, apiKeyId: hookId ?? apiKeyId ?? '', requests: 1, activities, bytes })
        setImmediate(note, answered)
      },
      onError: (error: unknown, requestId: string, known: object) =>
        logFailure(error, { requestId, ...known }),
      tracing: openTelemetry,
      observerOf: metrics?.gathering,
    },
    scrape: metrics?.text,
    onMalformed: (requestId: string, { kind, message }: DomainFailure, traceId?: string) => {
      const { status } = PROBLEMS[kind]
      metrics?.malformed(status)
      log.info({ requestId, status, code: kind, detail: message, traceId }, 'answered')
    },
  }
}
