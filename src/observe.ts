import { PROBLEMS } from './adapters/http/problems.ts'
import type { TracedPage } from './adapters/http/routes.ts'
import type { Log } from './adapters/log.ts'
import type { Metrics } from './adapters/metrics/metrics.ts'
import { type ChatCompletionsSettings, chatCompletionsNamer } from './adapters/naming/chat-completions.ts'
import type { OpenTelemetry } from './adapters/tracing/open-telemetry.ts'
import { createPageTraces } from './adapters/tracing/page-traces.ts'
import type { Config } from './config.ts'
import type { DomainFailure } from './core/failures.ts'
import type { ClaimedVersion, Namer } from './core/ports.ts'

/** What looks on besides the log. Each of them may be missing. */
export type Watching = {
  readonly metrics?: Metrics | null
  /** What `/metrics` answers where it is more than the figures of this process. */
  readonly scrape?: (() => Promise<string>) | undefined
  readonly openTelemetry?: OpenTelemetry | null
}
/** What looks on at this service, as far as that is wished for: nothing else of it is even loaded. */
export const loadWatching = async (config: Pick<Config, 'metrics'>): Promise<Watching> => ({
  metrics: config.metrics ? (await import('./adapters/metrics/metrics.ts')).createMetrics() : null,
  openTelemetry: await (await import('./adapters/tracing/open-telemetry.ts')).findOpenTelemetry(),
})
/** The metrics of several processes as one. */
export const loadAggregate = async () => (await import('./adapters/metrics/aggregate.ts')).createAggregate()

type Trace = { readonly traceId?: string }
type Observed = Watching & { readonly log: Log }

/** Tells the log, the metrics and the traces of whatever happens: each hook that the parts of the service have. */
export const observe = ({ log, metrics = null, scrape, openTelemetry = null }: Observed) => {
  const traces = createPageTraces(openTelemetry)
  const named = (namer: Namer): Namer => (metrics ? metrics.timedNamer(namer) : namer)

  return {
    /** Of the API. */
    requests: {
      onAsked: metrics?.asked,
      onAnswered: (answered: Parameters<Metrics['answered']>[0]) => {
        metrics?.answered(answered)
        log.info(answered, 'answered')
      },
      onError: (error: unknown, requestId: string, trace: Trace) =>
        log.error({ err: error, requestId, ...trace }, 'a request failed'),
      tracing: openTelemetry,
    },
    scrape: metrics ? (scrape ?? metrics.text) : undefined,
    onBadMessage: (requestId: string, { kind, message }: DomainFailure, trace: Trace) => {
      const { status } = PROBLEMS[kind]
      metrics?.malformed(status)
      log.info({ requestId, status, code: kind, detail: message, ...trace }, 'answered')
    },
    onPage: (pageId: string, { traceparent }: TracedPage) => {
      if (traceparent !== undefined) traces.remember(pageId, traceparent)
    },
    /** The namer that asks a naming server, and carries on the trace of the page. */
    chatNamer: (settings: ChatCompletionsSettings): Namer =>
      named(chatCompletionsNamer({ ...settings, traced: traces.send })),
    onFailedAttempt: (version: ClaimedVersion, why: unknown) => {
      metrics?.namingFailed()
      const { versionId, attempt } = version
      log.warn({ versionId, attempt, ...traces.lineOf(version), err: why }, 'naming failed')
    },
    onPublisherError: (error: unknown) => {
      metrics?.publishingFailed()
      log.error({ err: error }, 'publishing failed; it goes on')
    },
  }
}
