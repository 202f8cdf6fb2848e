import { jsonDepth } from '../../json/is-json.ts'
import { NESTING_MAX } from '../../json/raw-json.ts'
import { parseTemplate } from '../../json/template.ts'
import type { RawJson } from '../../shapes/json.ts'
import { type Fault, refuse } from '../engine/failures.ts'

const BYTES_MAX = 16_384
const FAULTS_MAX = 20

/**
 * A checked template as it is stored. A string that holds the JSON of an object or an array is that template.
 * Refuses `invalid_request`.
 */
export const templateText = (body: RawJson | null): string | null => {
  if (body === null) return null
  const text = jsonWithin(body.rawJson)
  const { faults } =
    Buffer.byteLength(text) > BYTES_MAX
      ? templateFault(`must be at most ${BYTES_MAX} bytes of JSON`)
      : parseTemplate(text)
  const errors: Fault[] = faults
    .slice(0, FAULTS_MAX)
    .map(({ detail, pointer }) => ({ detail, pointer: `/body${pointer}` }))
  return errors.length > 0
    ? refuse('invalid_request', 'The template cannot be used. See `errors`.', { errors })
    : text
}
const templateFault = (detail: string) => ({ faults: [{ detail, pointer: '' }] })

/** The template within a JSON string, if it was sent as one: no receiver wants a string. */
const jsonWithin = (text: string): string => {
  const string: unknown = text.startsWith('"') && JSON.parse(text)
  if (typeof string !== 'string' || !/^\s*(\{(?!\{)|\[)/.test(string)) return text
  const depth = jsonDepth(string) ?? Number.POSITIVE_INFINITY
  if (depth <= NESTING_MAX) return string.trim()
  const detail = `must be JSON, nested at most ${NESTING_MAX} levels deep`
  return refuse('invalid_request', 'The template is not JSON.', { errors: [{ detail, pointer: '/body' }] })
}
