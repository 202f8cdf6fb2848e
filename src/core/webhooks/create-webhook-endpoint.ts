import type { NewWebhookEndpoint, WebhookEndpointWithSecret } from '../../shapes/webhook.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import type { StoredEndpoint } from '../ports/webhooks.ts'
import { ENABLED, listText, requireUrl } from './change-endpoint.ts'
import { endpointOf } from './get-webhook-endpoint.ts'
import { sealedHeaders } from './webhook-headers.ts'
import { templateText } from './webhook-template.ts'
import type { WebhookTools } from './webhook-tools.ts'

/** How many endpoints a tenant may have. */
const SLOTS = Array.from({ length: 20 }, (_, i) => i + 1)

type Deps = Needs<'webhooks'> & { readonly webhooks: Pick<WebhookTools, 'secrets' | 'checkUrl'> }
type EndpointCreation = NewWebhookEndpoint & { readonly tenantId: string }

/**
 * Creates an endpoint, and returns its secret for the only time.
 * Refuses `limit_reached`, and `invalid_request`: the URL, the body.
 */
export const createWebhookEndpoint =
  ({ store, clock, newId, webhooks }: Deps) =>
  async (creation: EndpointCreation): Promise<Result<WebhookEndpointWithSecret>> => {
    const { tenantId, url, types, sources, logTypes, headers, method, body, description } = creation
    requireUrl(webhooks, url)
    const template = templateText(body)
    const now = isoTime(clock())
    const { secret, sealed } = webhooks.secrets.issue()
    const endpoint: Omit<StoredEndpoint, 'webhookEndpointId' | 'slot'> = {
      tenantId,
      url,
      types,
      sources: listText(sources),
      logTypes: listText(logTypes),
      description,
      headers: sealedHeaders(headers, webhooks.secrets.seal),
      method,
      body: template,
      ...ENABLED,
      secret: sealed,
      previousSecret: null,
      previousSecretUntil: null,
      createdAt: now,
      updatedAt: now,
    }
    const added = await decideAndSave({
      recall: () => store.webhooks.list(tenantId),
      decide: (others) => {
        const slot = freeSlot(others)
        const added: StoredEndpoint = { ...endpoint, webhookEndpointId: newId('webhookendpoint'), slot }
        return { answer: added, change: added }
      },
      record: (change) => store.webhooks.add(change),
    })
    return { value: { ...endpointOf(added), secret } }
  }

/** Refuses `limit_reached`. */
const freeSlot = (others: readonly StoredEndpoint[]): number => {
  const taken = new Set(others.map(({ slot }) => slot))
  const slot = SLOTS.find((slot) => !taken.has(slot))
  return slot ?? refuse('limit_reached', `A tenant has at most ${SLOTS.length} webhook endpoints.`)
}
