import { jsonDepth } from '../../json/is-json.ts'
import { parseTemplate, render } from '../../json/template.ts'
import { writeJson } from '../../json/write-json.ts'
import type { RawJson } from '../../shapes/json.ts'
import { refuseDeep, refuseFaults, SEE_ERRORS } from '../engine/parse-input.ts'
import type { StoredEvent } from '../ports/events.ts'
import type { StoredEndpoint } from '../ports/webhooks.ts'

const TEMPLATE_BYTES_MAX = 16_384
const BODY_BYTES_MAX = 262_144
const SIZE = `must be at most ${TEMPLATE_BYTES_MAX} bytes of JSON`
export const TOO_LARGE = 'The body would be larger than 256 KiB: the template inserts too much.'

/** A body as the tenant's event is shown in it. */
export type Described = Pick<StoredEvent, 'tenantId' | 'eventId' | 'createdAt'> & { readonly type: string }

/** A checked template as it is stored. A string that holds the JSON of an object or an array is that template. Refuses `invalid_request`. */
export const templateText = (body: RawJson | null): string | null => {
  if (body === null) return null
  const text = jsonWithin(body.rawJson)
  const isTooLarge = Buffer.byteLength(text) > TEMPLATE_BYTES_MAX
  const faults = isTooLarge ? [{ detail: SIZE, pointer: '' }] : parseTemplate(text).faults
  refuseFaults(
    faults.map((fault) => ({ ...fault, pointer: `/body${fault.pointer}` })),
    SEE_ERRORS,
  )
  return text
}

/** A template that was sent as text, which is never what its receiver wants. */
const jsonWithin = (text: string): string => {
  const string: unknown = text.startsWith('"') && JSON.parse(text)
  if (typeof string !== 'string' || !/^\s*(\{(?!\{)|\[)/.test(string)) return text
  const depth = jsonDepth(string)
  if (depth === null) refuseFaults([{ detail: 'must be JSON', pointer: '/body' }], SEE_ERRORS)
  refuseDeep(depth ?? 0, 'The template')
  return string.trim()
}

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
