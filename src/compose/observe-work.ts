import type { Log } from '../adapters/log.ts'
import type { Metrics } from '../adapters/metrics/metrics.ts'
import { isUnavailable } from '../core/engine/failures.ts'
import { obstacleOf } from '../core/engine/obstacles.ts'
import { isoTime } from '../core/engine/times.ts'
import { reasonOf } from '../core/pages/name-patiently.ts'
import type { ClaimedVersion, Namer } from '../core/ports/versions.ts'
import type { Served } from '../core/ports/world.ts'
import type { OnEndpoint } from '../core/webhooks/send-webhooks.ts'
import { PAUSED } from './eraser.ts'
import { onceAMinute } from './once-a-minute.ts'

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
      if (became === 'working') log.info(facts, ENDPOINT_MESSAGES[became])
      else log.warn(facts, ENDPOINT_MESSAGES[became])
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

const ENDPOINT_MESSAGES = {
  resting: 'A webhook endpoint keeps failing; it is probed once a minute.',
  working: 'A webhook endpoint works again.',
  disabled: 'A webhook endpoint was disabled.',
}

/** All errors have one cause, whatever the driver's message: the database cannot respond. */
const ONE_CAUSE = () => ''
/** Failed work is retried. While the database cannot respond, at most one line a minute is written. */
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

/**
 * Warns once a minute while the database takes no writes, and logs when it does again. Other errors are reported
 * elsewhere.
 */
export const watchDatabase = (log: Log, ready: () => Promise<void>) => {
  /** When this process noticed it; null while the database takes writes. */
  let since: string | null = null
  const warn = onceAMinute((_count, why) => log.warn({ since }, (why as Error).message), ONE_CAUSE)
  return async (): Promise<boolean> => {
    try {
      await ready()
      if (since !== null) log.info({ since }, 'The database takes writes again.')
      since = null
    } catch (error) {
      if (obstacleOf(error) !== 'takes_no_writes') return false
      since ??= isoTime(Date.now())
      warn(error)
    }
    return false
  }
}
