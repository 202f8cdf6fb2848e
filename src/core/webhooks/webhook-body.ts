import { parseTemplate, render } from '../../json/template.ts'
import { writeJson } from '../../json/write-json.ts'
import type { StoredEvent } from '../ports/events.ts'
import type { StoredEndpoint } from '../ports/webhooks.ts'

const BODY_BYTES_MAX = 262_144

/** The fields of an event that a body shows. */
type ShownEvent = Pick<StoredEvent, 'tenantId' | 'eventId' | 'createdAt'> & { readonly type: string }

export type BodyWriter = (event: ShownEvent, data: object) => string | null

/**
 * Writes the bodies of webhooks to an endpoint: as Standard Webhooks does, or by its template. Returns null for a body
 * that is too large.
 */
export const bodyWriter = ({ body }: Pick<StoredEndpoint, 'body'>): BodyWriter => {
  const template = body === null ? null : parseTemplate(body).template
  return ({ tenantId, eventId, type, createdAt: timestamp }, data) => {
    if (template === null) return writeJson({ type, timestamp, data })
    const event = writeJson({ eventId, type, timestamp, tenantId, data })
    const text = render(template, event, BODY_BYTES_MAX)
    return text !== null && Buffer.byteLength(text) > BODY_BYTES_MAX ? null : text
  }
}
