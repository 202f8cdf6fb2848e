import type { Store } from '../../core/ports/store.ts'
import type { DeliveryResult } from '../../core/ports/webhooks.ts'
import { UNREAD, UNSIGNED } from '../../core/webhooks/webhook-attempts.ts'
import type { Instruments } from './instruments.ts'
import { backlogGauges } from './publisher-metrics.ts'

/** Metrics of deliveries: attempts of this process, once they are saved, and the backlog of the whole database. */
export const webhookMetrics = ({ counter, gauge }: Instruments) => {
  const attempts = counter(
    'webhook_attempts_total',
    'Attempts to deliver a webhook: delivered; again, which will be retried; failed, the last one; unsent, not made.',
    ['outcome'],
  )
  for (const outcome of ['delivered', 'again', 'failed', 'unsent']) attempts.inc({ outcome }, 0)
  return <AnyStore extends Store>(store: AnyStore): AnyStore => {
    const { webhooks } = store
    backlogGauges(gauge, webhooks.backlog, {
      name: 'webhook_deliveries_pending',
      what: 'Webhook deliveries that are pending',
      ageName: 'webhook_deliveries_oldest_pending_age_seconds',
    })
    const settle: typeof webhooks.settle = async (endpoint, results, state) => {
      const isSaved = await webhooks.settle(endpoint, results, state)
      if (isSaved) for (const result of results) attempts.inc({ outcome: outcomeOf(result) })
      return isSaved
    }
    return { ...store, webhooks: { ...webhooks, settle } }
  }
}

const outcomeOf = ({ status, lastError }: DeliveryResult): string => {
  if (lastError === UNREAD || lastError === UNSIGNED) return 'unsent'
  return status === 'pending' ? 'again' : status
}
