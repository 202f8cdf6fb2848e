import { jsonDepth } from '../../json/is-json.ts'
import { NESTING_MAX } from '../../json/raw-json.ts'
import { parseTemplate } from '../../json/template.ts'
import type { RawJson } from '../../shapes/json.ts'
import { type Fault, refuse } from '../engine/failures.ts'

const BYTES_MAX = 16_384
const FAULTS_MAX = 20
/** The beginning of an object or an array. `{{` begins a placeholder: such a string is a template that sends a value. */
const OBJECT_OR_ARRAY = /^\s*(\{(?!\{)|\[)/

/**
 * The stored form of a template, once it is checked. A string that holds the JSON of an object or an array is that
 * template. Refuses `invalid_request`.
 */
export const templateText = (body: RawJson | null): string | null => {
  if (body === null) return null
  const text = unquoted(body.rawJson)
  if (Buffer.byteLength(text) > BYTES_MAX)
    return refuseTemplate([{ detail: `must be at most ${BYTES_MAX} bytes of JSON`, pointer: '/body' }])
  const faults = parseTemplate(text).faults.slice(0, FAULTS_MAX)
  if (faults.length > 0)
    return refuseTemplate(faults.map(({ detail, pointer }) => ({ detail, pointer: `/body${pointer}` })))
  return text
}

const refuseTemplate = (errors: readonly Fault[]): never =>
  refuse('invalid_request', 'The template cannot be used. See `errors`.', { errors })

/** The object or array within a JSON string: a template is often sent as text, but no receiver expects a text. */
const unquoted = (json: string): string => {
  if (!json.startsWith('"')) return json
  const text: string = JSON.parse(json)
  if (!OBJECT_OR_ARRAY.test(text)) return json
  const depth = jsonDepth(text)
  if (depth !== null && depth <= NESTING_MAX) return text.trim()
  const detail = `must be JSON, nested at most ${NESTING_MAX} levels deep`
  return refuse('invalid_request', 'The template is not JSON.', { errors: [{ detail, pointer: '/body' }] })
}
