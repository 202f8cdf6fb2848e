import type { SecretRotation, WebhookEndpointWithSecret } from '../../shapes/webhook.ts'
import type { Result } from '../engine/result.ts'
import { rotatedTo } from '../engine/sealed-secrets.ts'
import type { Needs } from '../ports/store.ts'
import type { EndpointKey } from '../ports/webhooks.ts'
import { changeEndpoint } from './change-endpoint.ts'
import { endpointOf } from './get-webhook-endpoint.ts'
import type { WebhookTools } from './webhook-tools.ts'

type Deps = Needs<'webhooks'> & { readonly webhooks: Pick<WebhookTools, 'secrets'> }

/** Replaces the secret; up to three older ones still sign until their overlap ends. Refuses `webhook_endpoint_not_found`. */
export const rotateWebhookSecret =
  (deps: Deps) =>
  async (rotation: EndpointKey & SecretRotation): Promise<Result<WebhookEndpointWithSecret>> => {
    const { overlapHours, ...key } = rotation
    const { secrets } = deps.webhooks
    const { secret, sealed } = secrets.issue()
    const nowMs = deps.clock()
    // A secret whose key was lost cannot be opened, and would keep the new one from signing too.
    const canSign = (old: string) => secrets.open(old) !== null
    const rotated = await changeEndpoint(deps, key, (found) =>
      rotatedTo(sealed, found, overlapHours, nowMs, canSign),
    )
    return { value: { ...endpointOf(rotated), secret } }
  }
