import type { WebhookEndpoint, WebhookEndpointChanges } from '../../shapes/webhook.ts'
import type { Result } from '../engine/result.ts'
import type { Needs } from '../ports/store.ts'
import type { EndpointKey, StoredEndpoint } from '../ports/webhooks.ts'
import { changeEndpoint, ENABLED, listText, NO_FAILURES, requireUrl } from './change-endpoint.ts'
import { endpointOf } from './get-webhook-endpoint.ts'
import { sealedHeaders } from './webhook-headers.ts'
import { templateText } from './webhook-template.ts'
import type { WebhookTools } from './webhook-tools.ts'

type Deps = Needs<'webhooks'> & { readonly webhooks: Pick<WebhookTools, 'secrets' | 'checkUrl'> }
type EndpointUpdate = EndpointKey & WebhookEndpointChanges

/**
 * Changes the given fields of an endpoint. The status `enabled`, or another URL, method or body, forgets its failures and
 * ends its rest.
 * Refuses `webhook_endpoint_not_found`, and `invalid_request`: the URL, the body.
 */
export const updateWebhookEndpoint =
  (deps: Deps) =>
  async (update: EndpointUpdate): Promise<Result<WebhookEndpoint>> => {
    const { url, types, sources, logTypes, headers, method, body, description, status, ...key } = update
    if (url !== undefined) requireUrl(deps.webhooks, url)
    const template = ifSent(body, templateText)
    const sealed = ifSent(headers, (headers) => sealedHeaders(headers, deps.webhooks.secrets.seal))
    const resetsFailures = (found: StoredEndpoint): boolean =>
      status === 'enabled' ||
      kept(url, found.url) !== found.url ||
      kept(method, found.method) !== found.method ||
      kept(template, found.body) !== found.body
    const fieldsOf = (found: StoredEndpoint): Partial<StoredEndpoint> => ({
      url: kept(url, found.url),
      types: kept(types, found.types),
      sources: kept(ifSent(sources, listText), found.sources),
      logTypes: kept(ifSent(logTypes, listText), found.logTypes),
      headers: kept(sealed, found.headers),
      method: kept(method, found.method),
      body: kept(template, found.body),
      description: kept(description, found.description),
      status: kept(status, found.status),
      ...(resetsFailures(found) && NO_FAILURES),
      ...(status === 'enabled' && ENABLED),
    })
    return { value: endpointOf(await changeEndpoint(deps, key, fieldsOf, resetsFailures)) }
  }

/** The new value of a field, or the old one if none was sent. */
const kept = <Value>(sent: Value | undefined, old: Value): Value => (sent === undefined ? old : sent)

const ifSent = <Sent, Value>(sent: Sent | undefined, convert: (sent: Sent) => Value): Value | undefined =>
  sent === undefined ? undefined : convert(sent)
