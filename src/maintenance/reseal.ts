import { resealedSecrets, type SealedSecrets } from '../core/engine/sealed-secrets.ts'
import type { Secrets } from '../core/ports/secrets.ts'
import { resealedHeaders } from '../core/webhooks/webhook-headers.ts'

/** What an endpoint or a hook has sealed. A hook has no headers. */
export type Sealed = SealedSecrets & { readonly headers?: string | null }

/** The valid secrets and the headers under the newest key, with counts; what no key opens stays unchanged. */
export const resealed = (found: Sealed, nowMs: number, reseal: Secrets['reseal']) => {
  const counts = { rewritten: 0, alreadyNew: 0, undecipherable: 0 }
  const countAndReseal = (sealed: string): string => {
    const renewed = reseal(sealed)
    if (renewed === null) counts.undecipherable++
    else if (renewed === sealed) counts.alreadyNew++
    else counts.rewritten++
    return renewed ?? sealed
  }
  const secrets = resealedSecrets(found, nowMs, countAndReseal)
  const headers = found.headers && { headers: resealedHeaders(found.headers, countAndReseal) }
  return { counts, sealed: { ...secrets, ...headers } }
}
