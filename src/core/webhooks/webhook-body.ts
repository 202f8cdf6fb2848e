import { parseTemplate, render } from '../../json/template.ts'
import { writeJson } from '../../json/write-json.ts'
import type { StoredEvent } from '../ports/events.ts'
import type { StoredEndpoint } from '../ports/webhooks.ts'

const BODY_BYTES_MAX = 262_144

/** A body as the tenant's event is shown in it. */
export type Described = Pick<StoredEvent, 'tenantId' | 'eventId' | 'createdAt'> & { readonly type: string }

/** Writes the bodies of webhooks to an endpoint: as Standard Webhooks does, or by its template. Null if one is too large. */
export const bodyWriter = ({ body }: Pick<StoredEndpoint, 'body'>) => {
  const template = body === null ? null : parseTemplate(body).template
  return ({ tenantId, eventId, type, createdAt: timestamp }: Described, data: object): string | null => {
    if (template === null) return writeJson({ type, timestamp, data })
    const event = writeJson({ eventId, type, timestamp, tenantId, data })
    const text = render(template, event, BODY_BYTES_MAX)
    return text !== null && Buffer.byteLength(text) > BODY_BYTES_MAX ? null : text
  }
}
