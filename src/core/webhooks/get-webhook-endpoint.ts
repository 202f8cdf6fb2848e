import type { WebhookEndpoint } from '../../shapes/webhook.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import type { Needs } from '../ports/store.ts'
import type { EndpointKey, StoredEndpoint } from '../ports/webhooks.ts'
import { shownHeaders } from './webhook-headers.ts'

type Deps = Pick<Needs<'webhooks'>, 'store'>

/** Reads one endpoint. Refuses `webhook_endpoint_not_found`. */
export const getWebhookEndpoint =
  ({ store }: Deps) =>
  async (key: EndpointKey): Promise<Result<WebhookEndpoint>> => ({
    value: endpointOf(await existingEndpoint(store, key)),
  })

/** Refuses `webhook_endpoint_not_found`. */
export const existingEndpoint = async (
  { webhooks }: Deps['store'],
  key: EndpointKey,
): Promise<StoredEndpoint> => endpointIn(await webhooks.list(key.tenantId), key)

/** Refuses `webhook_endpoint_not_found`. */
export const endpointIn = (
  endpoints: readonly StoredEndpoint[],
  { webhookEndpointId }: EndpointKey,
): StoredEndpoint => {
  const found = endpoints.find((endpoint) => endpoint.webhookEndpointId === webhookEndpointId)
  return found ?? refuse('webhook_endpoint_not_found', 'Webhook endpoint not found.')
}

/** Refuses `webhook_endpoint_disabled`. */
export const requireEnabled = ({ status }: StoredEndpoint): void => {
  if (status !== 'enabled') refuse('webhook_endpoint_disabled', 'Enable the endpoint first.')
}

/** The fields of an endpoint that callers see. */
export const endpointOf = (endpoint: StoredEndpoint): WebhookEndpoint => ({
  webhookEndpointId: endpoint.webhookEndpointId,
  url: endpoint.url,
  types: endpoint.types && [...endpoint.types],
  sources: endpoint.sources && JSON.parse(endpoint.sources),
  logTypes: endpoint.logTypes && JSON.parse(endpoint.logTypes),
  headers: shownHeaders(endpoint.headers),
  method: endpoint.method,
  body: endpoint.body === null ? null : { rawJson: endpoint.body },
  description: endpoint.description,
  status: endpoint.status === 'enabled' ? 'enabled' : 'disabled',
  disabledReason: endpoint.disabledReason,
  failures: endpoint.failures,
  failingSince: endpoint.failingSince,
  lastError: endpoint.lastError && JSON.parse(endpoint.lastError),
  createdAt: endpoint.createdAt,
  updatedAt: endpoint.updatedAt,
})
