import { setTimeout as pause } from 'node:timers/promises'
import { sharedCall } from '../shared-call.ts'
import { type RawRoute, rawRoute } from './raw-route.ts'

/** How long the next scrape waits: a multiple of the time that the last one took, and at most a second. */
const REST_TIMES = 9
const REST_MS_MAX = 1_000

/**
 * Metrics in the text format of Prometheus. Needs no key: the network decides who may reach it. One scrape at a time, and
 * however many callers there are, scrapes take a tenth of the time.
 */
export const metricsRoute = (text: () => Promise<string>): RawRoute => {
  let nextMs = 0
  const scrape = sharedCall(async () => {
    const restMs = nextMs - performance.now()
    if (restMs > 0) await pause(restMs)
    const beganMs = performance.now()
    const scraped = await text()
    const endedMs = performance.now()
    nextMs = endedMs + Math.min(REST_TIMES * (endedMs - beganMs), REST_MS_MAX)
    return scraped
  })
  return rawRoute('/metrics', async () => ({
    status: 200,
    headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
    body: await scrape(),
  }))
}
