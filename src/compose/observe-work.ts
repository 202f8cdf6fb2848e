import type { Log } from '../adapters/log.ts'
import type { Metrics } from '../adapters/metrics/metrics.ts'
import { isUnavailable, obstacleOf } from '../core/engine/failures.ts'
import { MINUTE_MS } from '../core/engine/times.ts'
import { reasonOf } from '../core/pages/name-patiently.ts'
import type { ClaimedVersion, Namer } from '../core/ports/versions.ts'
import type { Served } from '../core/ports/world.ts'
import type { OnEndpoint } from '../core/webhooks/send-webhooks.ts'
import { PAUSED } from './eraser.ts'

/** Passes events of the work in the background to the log and the metrics. */
export const observeWork = ({ log, metrics }: { readonly log: Log; readonly metrics?: Metrics | null }) => ({
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

const BECAME = {
  resting: 'A webhook endpoint keeps failing; it is probed once a minute.',
  working: 'A webhook endpoint works again.',
  disabled: 'A webhook endpoint was disabled.',
}

const CAUSES_MAX = 100

/**
 * Writes one line a minute for each cause, with the number of errors since the line before: in an outage every request
 * fails for the same reason. A refusal by a system or a database has a code; a bug is known by its stack.
 */
export const onceAMinute = <Facts extends readonly unknown[]>(
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

/** Says once a minute that the database takes no writes, and once that it does again. Other work reports other errors. */
export const watchDatabase = (log: Log, ready: () => Promise<void>) => {
  let isRefusing = false
  const warn = onceAMinute((_count, why) => {
    isRefusing = true
    log.warn((why as Error).message)
  }, ONE_CAUSE)
  return async (): Promise<boolean> => {
    try {
      await ready()
      if (isRefusing) log.info('The database takes writes again.')
      isRefusing = false
    } catch (error) {
      if (obstacleOf(error) === 'takes_no_writes') warn(error)
    }
    return false
  }
}
