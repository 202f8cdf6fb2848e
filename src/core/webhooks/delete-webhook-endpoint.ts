import type { Needs } from '../ports/store.ts'
import type { EndpointKey } from '../ports/webhooks.ts'
import { changeEndpoint } from './change-endpoint.ts'

/** Deletes an endpoint: nothing more is delivered to it. Refuses `webhook_endpoint_not_found`. */
export const deleteWebhookEndpoint =
  (deps: Pick<Needs<'webhooks'>, 'store' | 'clock'>) =>
  async (key: EndpointKey): Promise<void> => {
    await changeEndpoint(deps, key, () => ({ status: 'deleted', slot: null }))
  }
