import type { WebhookEndpoint } from '../../shapes/webhook.ts'
import type { Result } from '../engine/result.ts'
import type { Needs } from '../ports/store.ts'
import { endpointOf } from './get-webhook-endpoint.ts'

/** Lists all endpoints of a tenant, oldest first. */
export const listWebhookEndpoints =
  ({ store }: Pick<Needs<'webhooks'>, 'store'>) =>
  async ({
    tenantId,
  }: {
    readonly tenantId: string
  }): Promise<Result<{ readonly items: WebhookEndpoint[] }>> => {
    const endpoints = await store.webhooks.list(tenantId)
    return { value: { items: endpoints.map(endpointOf) } }
  }
