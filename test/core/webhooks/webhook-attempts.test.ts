import t from 'tap'
import type { WebhookAnswer } from '../../../src/core/ports/sending.ts'
import type { DueDelivery } from '../../../src/core/ports/webhooks.ts'
import {
  deliveryAfter,
  disabledReason,
  errorAt,
  healthAfter,
  needsRest,
  restMsAsked,
} from '../../../src/core/webhooks/webhook-attempts.ts'
import { START_MS } from '../../support/setting.ts'

const S = 1_000
const MIN = 60 * S
const HOUR = 60 * MIN
const DAY = 24 * HOUR

const due = (attempts: number) => ({ attempts, event: { eventId: 'event_01' } }) as DueDelivery
const answer = (status: number | null, retryAfterMs: number | null = null): WebhookAnswer => ({
  status,
  error: status === 200 ? null : 'It failed.',
  retryAfterMs,
  ms: 7,
})
/** After how long it is tried again; null: never. */
const pauseMs = (attempts: number, given: WebhookAnswer, random = 0.5): number | null => {
  const { nextAttemptAt } = deliveryAfter(due(attempts), given, START_MS, random)
  return nextAttemptAt === null ? null : Date.parse(nextAttemptAt) - START_MS
}
const failed = answer(500)
const at = (ms: number) => new Date(START_MS + ms).toISOString()

t.test('a success ends a delivery', async (t) => {
  t.strictSame(deliveryAfter(due(3), answer(200), START_MS, 0.5), {
    eventId: 'event_01',
    status: 'delivered',
    attempts: 4,
    lastStatus: 200,
    lastError: null,
    nextAttemptAt: null,
    deliveredAt: at(0),
    attempt: JSON.stringify({ at: at(-7), ms: 7, status: 200, error: null, answer: null }),
  })
})

t.test('failures are retried after growing pauses, and the tenth is the last', async (t) => {
  const pauses = Array.from({ length: 10 }, (_, attempts) => pauseMs(attempts, failed))
  const hours = [2, 5, 10, 14, 20, 24].map((count) => count * HOUR)
  t.strictSame(pauses, [5 * S, 5 * MIN, 30 * MIN, ...hours, null])
  t.match(deliveryAfter(due(9), failed, START_MS, 0.5), {
    status: 'failed',
    attempts: 10,
    lastError: 'It failed.',
  })
  t.match(deliveryAfter(due(0), answer(null), START_MS, 0.5), { status: 'pending', lastStatus: null })
})

t.test('pauses are up to a fifth shorter or longer', async (t) => {
  t.equal(pauseMs(1, failed, 0), 4 * MIN)
  t.equal(pauseMs(1, failed, 1), 6 * MIN)
})

t.test('a longer Retry-After is honoured, a shorter one is not', async (t) => {
  t.equal(pauseMs(0, answer(429, HOUR)), HOUR)
  t.equal(pauseMs(0, answer(500, DAY)), DAY)
  t.equal(pauseMs(2, answer(429, 1 * S)), 30 * MIN)
  t.equal(pauseMs(9, answer(429, HOUR)), null)
})

t.test('429 and 503 with Retry-After rest the endpoint, for a minute at most', async (t) => {
  t.equal(restMsAsked(answer(429, 2 * S)), 2 * S)
  t.equal(restMsAsked(answer(503, DAY)), MIN)
  t.equal(restMsAsked(answer(429)), 0)
  t.equal(restMsAsked(answer(500, 2 * S)), 0)
})

t.test('an endpoint counts its failures in a row, and since when', async (t) => {
  let health = healthAfter({ failures: 0, failingSince: null, lastError: null }, failed, START_MS)
  const errorOf = (ms: number) => errorAt(START_MS + ms, String(failed.error), failed.status)
  t.strictSame(health, { failures: 1, failingSince: at(0), lastError: errorOf(0) })
  for (let i = 1; i < 4; i++) health = healthAfter(health, failed, START_MS + i)
  t.notOk(needsRest(health))
  health = healthAfter(health, failed, START_MS + 9)
  t.strictSame(health, { failures: 5, failingSince: at(0), lastError: errorOf(9) })
  t.ok(needsRest(health))
  t.strictSame(healthAfter(health, answer(200), START_MS), {
    failures: 0,
    failingSince: null,
    lastError: null,
  })
})

t.test('it is disabled by a 410, or after five days and ten failures', async (t) => {
  const cases: readonly (readonly [
    failures: number,
    ms: number,
    status: number | null,
    reason: RegExp | null,
  ])[] = [
    [1, 0, 410, /410/],
    [10, 5 * DAY, 500, /5 days/],
    [10, 5 * DAY, null, /5 days/],
    [9, 50 * DAY, 500, null],
    [1_000, 5 * DAY - 1, 500, null],
  ]
  for (const [failures, ms, status, reason] of cases) {
    const why = disabledReason(
      { failures, failingSince: at(0), lastError: null },
      answer(status),
      START_MS + ms,
    )
    if (reason === null) t.equal(why, null)
    else t.match(why, reason)
  }
  t.equal(disabledReason({ failures: 0, failingSince: null, lastError: null }, answer(200), START_MS), null)
  t.match(deliveryAfter(due(0), answer(410), START_MS, 0.5), { status: 'failed', attempts: 1 })
})
