import { canonical } from '../../json/canonical-json.ts'
import type { CreatedWebhookEndpoint, NewWebhookEndpoint } from '../../shapes/webhook.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import { type Named, requestHashOf, requireSameSealed } from '../engine/keys.ts'
import type { Replayable } from '../engine/result.ts'
import { freeSlot } from '../engine/slots.ts'
import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import type { StoredEndpoint } from '../ports/webhooks.ts'
import { ENABLED, listText, requireUrl } from './change-endpoint.ts'
import { endpointOf } from './get-webhook-endpoint.ts'
import { sealedHeaders } from './webhook-headers.ts'
import { templateText } from './webhook-template.ts'
import type { WebhookTools } from './webhook-tools.ts'

/** How many endpoints a tenant may have. */
const ENDPOINTS_MAX = 20

type Deps = Needs<'webhooks'> & { readonly webhooks: Pick<WebhookTools, 'secrets' | 'checkUrl'> }
type EndpointCreation = NewWebhookEndpoint & {
  readonly tenantId: string
  readonly idempotencyKey?: string | undefined
}

/**
 * Creates an endpoint, and returns its secret for the only time: a replay returns the endpoint as it is now, without it.
 * Refuses `limit_reached`, `idempotency_key_reused`, and `invalid_request`: the URL, the body.
 */
export const createWebhookEndpoint =
  ({ store, clock, newId, webhooks }: Deps) =>
  async (creation: EndpointCreation): Promise<Replayable<CreatedWebhookEndpoint>> => {
    const {
      tenantId,
      idempotencyKey = null,
      url,
      types,
      sources,
      logTypes,
      headers,
      method,
      body,
      description,
    } = creation
    requireUrl(webhooks, url)
    const template = templateText(body)
    const now = isoTime(clock())
    const { secret, sealed } = webhooks.secrets.issue()
    const requestHash = idempotencyKey === null ? null : hashOf(creation, template)
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
      idempotencyKey,
      requestHash: requestHash && webhooks.secrets.seal(requestHash),
    }
    const { created, replayed } = await decideAndSave({
      recall: () => store.webhooks.list(tenantId),
      decide: (others) => {
        const first = others.find(
          (other) => other.idempotencyKey !== null && other.idempotencyKey === idempotencyKey,
        )
        if (first !== undefined) {
          const { webhookEndpointId } = first
          requireSameSealed(first, requestHash, webhooks.secrets, { webhookEndpointId })
          return { answer: { created: first, replayed: true }, change: null }
        }
        const taken = others.map(({ slot }) => slot)
        const slot = freeSlot(taken, ENDPOINTS_MAX, 'webhook endpoints')
        const created: StoredEndpoint = { ...endpoint, webhookEndpointId: newId('webhookendpoint'), slot }
        return { answer: { created, replayed: false }, change: created }
      },
      record: (change) => store.webhooks.add(change),
    })
    const shown = endpointOf(created)
    return { value: replayed ? shown : { ...shown, secret }, replayed }
  }

/** The request's hash, by its fields. */
const hashOf = (creation: NewWebhookEndpoint, template: string | null): string => {
  const { url, types, sources, logTypes, headers, method, description } = creation
  const same: Named<NewWebhookEndpoint> = {
    url,
    types,
    sources,
    logTypes,
    headers: headers && Object.fromEntries(Object.entries(headers).sort()),
    method,
    body: undefined,
    description,
  }
  return requestHashOf(same, template === null ? undefined : canonical({ rawJson: template }))
}
