import t from 'tap'
import { memoryStore } from '../../../src/adapters/memory/store.ts'
import { createMetrics } from '../../../src/adapters/metrics/metrics.ts'
import {
  deliveryAfter,
  deliveryUnsent,
  UNREAD,
  UNSIGNED,
} from '../../../src/core/webhooks/webhook-attempts.ts'
import { addTenant, at, someClaim, someEndpoint, someEvent, someGroup } from '../../support/rows.ts'
import { scrapeOf } from '../../support/scrape.ts'

t.test('attempts are counted by outcome, and so are those that could not be made', async (t) => {
  const metrics = createMetrics()
  const store = metrics.measured(memoryStore())
  const tenant = await addTenant(store)
  const { tenantId } = tenant
  const endpoint = someEndpoint(tenantId)
  await store.webhooks.add(endpoint)
  const events = [1, 2, 3, 4].map(() => someEvent(tenantId))
  await store.pageGroups.add(someGroup(tenant), events)
  await store.events.number({ tenantId, now: at(0), max: 4 })
  const [claimed] = await store.webhooks.claim(someClaim())
  const [delivered, retried, unread, unsigned] = await store.webhooks.due({ ...endpoint, now: at(0), max: 4 })
  if (!claimed || !delivered || !retried || !unread || !unsigned) throw new Error('they are due')
  const nowMs = Date.parse(at(0))
  const results = [
    deliveryAfter(delivered, { status: 204, error: null, retryAfterMs: null, ms: 7 }, nowMs, 0),
    deliveryAfter(retried, { status: 500, error: 'why', retryAfterMs: null, ms: 7 }, nowMs, 0),
    deliveryUnsent(unread, nowMs, UNREAD),
    deliveryUnsent(unsigned, nowMs, UNSIGNED),
  ]
  const state = { failures: 1, failingSince: at(0), lastError: null, claimableAt: null, readAt: at(0) }
  t.equal(await store.webhooks.settle(claimed, results, state), true)
  const { value } = scrapeOf(await metrics.text())
  const countOf = (outcome: string) => value('prospect_pages_webhook_attempts_total', { outcome })
  t.strictSame(['delivered', 'again', 'failed', 'unsent'].map(countOf), [1, 1, 0, 2])
})
