import { PROBLEMS } from '../adapters/http/problems.ts'
import type { RequestLog } from '../adapters/http/requests.ts'
import type { Log } from '../adapters/log.ts'
import type { Metrics } from '../adapters/metrics/metrics.ts'
import type { OpenTelemetry } from '../adapters/open-telemetry.ts'
import type { Config } from '../config/config.ts'
import { type DomainFailure, isUnavailable } from '../core/engine/failures.ts'
import { reasonOf } from '../core/pages/name-patiently.ts'
import type { Used } from '../core/ports/counts.ts'
import type { ClaimedVersion, Namer } from '../core/ports/versions.ts'
import type { Served } from '../core/ports/world.ts'
import type { OnEndpoint } from '../core/webhooks/send-webhooks.ts'
import { PAUSED } from './eraser.ts'

/** The observers of the service besides the log. */
export type Telemetry = {
  readonly metrics?: Metrics | null
  /** The text of `/metrics`, unless it is that of this process alone. */
  readonly scrape?: (() => Promise<string>) | undefined
  readonly openTelemetry?: OpenTelemetry | null
}

/** Loads the telemetry that is enabled. Disabled parts are not even imported. */
export const loadTelemetry = async (config: Pick<Config, 'metrics' | 'workers'>): Promise<Telemetry> => ({
  metrics: config.metrics
    ? (await import('../adapters/metrics/metrics.ts')).createMetrics(config.workers)
    : null,
  openTelemetry: await (await import('../adapters/open-telemetry.ts')).findOpenTelemetry(),
})

type Always = { readonly log: Log; readonly use?: (used: Used) => void }
/** Passes events of the service to the log, the metrics and the traces. */
export const observe = ({ log, metrics, scrape, openTelemetry, use }: Telemetry & Always) => ({
  requests: {
    onRequest: metrics?.asked,
    onAnswered: (answered: RequestLog) => {
      const { tenantId, apiKeyId, hookId, activities = 0, bodyBytes: bytes = 0 } = answered
      if (tenantId) use?.({ tenantId, apiKeyId: hookId ?? apiKeyId ?? '', requests: 1, activities, bytes })
      metrics?.answered(answered)
      log.info(answered, 'answered')
    },
    onError: onceAMinute((count, err, requestId: string, known: object) =>
      log.error({ err, requestId, ...known, count }, 'request failed'),
    ),
    tracing: openTelemetry,
    observerOf: metrics?.gathering,
  },
  scrape: metrics ? (scrape ?? metrics.text) : undefined,
  onMalformed: (requestId: string, { kind, message }: DomainFailure, traceId?: string) => {
    const { status } = PROBLEMS[kind]
    metrics?.malformed(status)
    log.info({ requestId, status, code: kind, detail: message, traceId }, 'answered')
  },
  measuredNamer: (namer: Namer): Namer => metrics?.timedNamer(namer) ?? namer,
  erasing: {
    onPause: ({ servedAt, pausedAt: now }: Served) => log.warn({ servedAt, now }, PAUSED),
    ...background(log, 'Erasing'),
  },
  counting: background(log, 'Counting activities'),
  sending: {
    onEndpoint: (({ tenantId, webhookEndpointId, url }, became, reason) => {
      const facts = { tenantId, webhookEndpointId, host: new URL(url).host, reason }
      log[became === 'working' ? 'info' : 'warn'](facts, BECAME[became])
    }) satisfies OnEndpoint,
    ...background(log, 'Sending webhooks'),
  },
  publishing: {
    onFailedAttempt: ({ versionId }: ClaimedVersion, why: unknown, retryInMs: number | null) => {
      metrics?.namingFailed()
      const next = retryInMs === null ? 'published under its built-in name' : `retried in ${retryInMs} ms`
      log.warn({ versionId, reason: reasonOf(why), next }, 'naming failed')
    },
    ...background(log, 'Publishing', metrics?.publishingFailed),
  },
})

const MINUTE_MS = 60_000
const CAUSES_MAX = 100

/**
 * Writes one line a minute for each cause, with the number of errors since the line before: in an outage every request
 * fails for the same reason. A refusal by a system or a database has a code; a bug is known by its stack.
 */
const onceAMinute = <Facts extends readonly unknown[]>(
  write: (count: number, error: unknown, ...facts: Facts) => void,
  causeOf = causeIn,
) => {
  const lines = new Map<string, { readonly atMs: number; omitted: number }>()
  return (error: unknown, ...facts: Facts): void => {
    const cause = causeOf(error)
    const last = lines.get(cause)
    const atMs = performance.now()
    if (last !== undefined && atMs - last.atMs < MINUTE_MS) return void last.omitted++
    if (lines.size >= CAUSES_MAX) lines.clear()
    lines.set(cause, { atMs, omitted: 0 })
    write((last?.omitted ?? 0) + 1, error, ...facts)
  }
}

const causeIn = (error: unknown): string => {
  const { code, message, stack } = Object(error)
  return code === undefined ? String(stack) : `${code} ${message}`.replace(/\d+/g, '')
}

const BECAME = {
  resting: 'A webhook endpoint keeps failing; it is probed once a minute.',
  working: 'A webhook endpoint works again.',
  disabled: 'A webhook endpoint was disabled.',
}

/** One cause whatever the driver's message: the database cannot respond. */
const ONE_CAUSE = () => ''
/** Work is retried again and again. While the database cannot respond, that is one line a minute. */
const background = (log: Log, work: string, failed?: () => void) => {
  let isWaiting = false
  const warn = onceAMinute((_count, why) => {
    isWaiting = true
    const { message, code } = why as NodeJS.ErrnoException
    log.warn({ reason: message || code }, `${work} waits: the database cannot answer.`)
  }, ONE_CAUSE)
  return {
    onError: (error: unknown) => {
      failed?.()
      if (!isUnavailable(error)) return log.error({ err: error }, `${work} failed; retrying.`)
      warn(error.cause ?? error)
    },
    onStep: () => {
      if (isWaiting) log.info(`${work} works again.`)
      isWaiting = false
    },
  }
}
